/** The plugins of docs/plugins.md are typed and work, and its commands run, in a fresh clone. */
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

t.test('its plugins and commands', { skip: !LONG && 'CI and the long form run them' }, async t => {
  const place = await clone(t)
  const files = blocksOf(PAGE).filter(({ file }) => file !== '')
  t.ok(files.length >= 4)
  const voice = await place.start()
  for (const { file, text } of files) writeFileSync(join(place.folder, file), text)
  await voice.until(/reload #\d+: .*route/)
  // The test that `plugin new` writes is run by the README's session.
  const out = await place.shell(sessionOf(PAGE).replace(/^npx tap .*$/m, ''))
  t.match(out, /no problems \(2 routes/)
  t.match(out, /x-route: GET \/items\/\{id\}/)
  t.match(out, /"time":"20\d\d-/)

  // Also those that `plugin new` wrote.
  const config = readFileSync(join(root, 'tsconfig.json'), 'utf8')
  writeFileSync(join(place.folder, 'tsconfig.json'), config.replace('"engine", ', ''))
  const types = spawnSync(...plainly(join(root, 'node_modules/.bin/tsc'), '--noEmit'), {
    cwd: place.folder,
    env: operatorEnv(),
    encoding: 'utf8',
  })
  t.equal(types.stdout + types.stderr, '')
})
