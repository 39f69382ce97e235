/** docs/plugins.md: its plugins compile and work, and its commands run in a fresh clone. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { LONG } from '../helpers/long.ts'
import { operatorEnv, plainly } from '../helpers/operator.ts'
import { blocksOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/plugins.md'
const root = fileURLToPath(new URL('../..', import.meta.url))

t.test(
  'docs/plugins.md: its plugins compile and its commands run in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    const files = blocksOf(PAGE).filter(({ file }) => file !== '')
    t.ok(files.length >= 4)
    const output = await copy.start()
    for (const { file, text } of files) writeFileSync(join(copy.folder, file), text)
    await output.until(/reload #\d+: .*route/)
    // The test that `plugin new` writes is run by the README's session.
    const out = await copy.shell(sessionOf(PAGE).replace(/^npx tap .*$/m, ''))
    t.match(out, /no problems \(2 routes/)
    t.match(out, /x-route: GET \/items\/\{id\}/)
    t.match(out, /"time":"20\d\d-/)

    // Also checks the plugins that `plugin new` wrote.
    const config = readFileSync(join(root, 'tsconfig.json'), 'utf8')
    writeFileSync(join(copy.folder, 'tsconfig.json'), config.replace('"engine", ', ''))
    const types = spawnSync(...plainly(join(root, 'node_modules/.bin/tsc'), '--noEmit'), {
      cwd: copy.folder,
      env: operatorEnv(),
      encoding: 'utf8',
    })
    t.equal(types.stdout + types.stderr, '')
  },
)
