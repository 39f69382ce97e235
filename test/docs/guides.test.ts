/** docs/guides/: their YAML compiles, and their links work. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { certificateOf } from '../helpers/gateway/certificate.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { temporaryFolder } from '../helpers/store/store.ts'
import { blocksOf, pageOf } from './blocks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const GUIDES = readdirSync(`${root}/docs/guides`).map(name => `docs/guides/${name}`)

// A new configuration uses the shipped plugins.
t.before(() => {
  delete process.env.TOLLGATE_PLUGINS
})
t.teardown(() => {
  process.env.TOLLGATE_PLUGINS = 'none'
})

t.test('guides: every YAML block is a valid part of a configuration', async t => {
  let count = 0
  for (const guide of GUIDES)
    for (const { text } of blocksOf(guide).filter(({ language }) => language === 'yaml')) {
      count++
      const folder = temporaryFolder(t)
      const env = {
        TOLLGATE_CONFIG: `${folder}/routes.yaml`,
        TOLLGATE_DATA: usedFolder(`${folder}/data`),
      }
      t.match(await tollgate(['init'], env), { code: 0 })
      const { cert, key } = certificateOf(t, 'example')
      writeFileSync(`${folder}/fullchain.pem`, cert)
      writeFileSync(`${folder}/privkey.pem`, key)
      writeFileSync(`${folder}/part.yaml`, text.replaceAll('/etc/tollgate', folder))
      const yaml = readFileSync(env.TOLLGATE_CONFIG, 'utf8')
      writeFileSync(env.TOLLGATE_CONFIG, yaml.replace('include: [', 'include: [part.yaml, '))
      const result = await tollgate(['check'], env)
      t.match(result, { code: 0, out: /no problems/ }, `${guide}: ${result.err}`)
    }
  t.ok(count > 0)
})

t.test('guides: every link leads to a page', async t => {
  for (const guide of GUIDES)
    for (const [, target = ''] of pageOf(guide).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      t.ok(existsSync(`${root}/docs/guides/${target}`), `${guide}: ${target}`)
})
