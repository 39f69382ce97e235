/** A changed file goes live without a command, reports its changes, and can be rolled back. */
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  eventually,
  folderWith,
  type Primary,
  routes,
  startPrimary,
} from '../helpers/gateway/primary.ts'

const SECRET = 'sk-canary-secret'
const env = { SECRET }
const config = (text: string) =>
  routes(text).replace(
    'pipeline:',
    "upstreams: { up: { url: 'http://127.0.0.1:9/', key: '${SECRET}' } }\npipeline:",
  )
const { 'routes.yaml': _, ...plugins } = folderWith()
const upperCase = (plugins['plugins/stamp.ts'] ?? '').replace(
  '{ text,',
  '{ text: text.toUpperCase(),',
)

// Like a mounted ConfigMap: a link to a link.
const first = await startPrimary(t, {
  files: { ...plugins, '..1/routes.yaml': config('one'), '..2/routes.yaml': config('two') },
  prepare: folder => {
    symlinkSync('..1', join(folder, '..now'))
    symlinkSync('..now/routes.yaml', join(folder, 'routes.yaml'))
  },
  env,
})
const { folder } = first
const file = join(folder, 'routes.yaml')
const stamp = async (primary: Primary = first) => {
  const response = await fetch(`${primary.url}/stamp`)
  const { text, version } = (await response.json()) as { text: string; version: number }
  return { text, version, header: Number(response.headers.get('x-tollgate-version')) }
}

t.test('reload: a mounted folder whose link is swapped', async t => {
  t.same(await stamp(), { text: 'one', version: 1, header: 1 })
  symlinkSync('..2', join(folder, '..next'))
  renameSync(join(folder, '..next'), join(folder, '..now'))
  await first.until(/reload #2: route stamp .*, \d+ ms/)
  t.same(await stamp(), { text: 'two', version: 2, header: 2 })
  t.equal(await first.metric('config_version'), 2)
  t.equal(await first.metric('config_reload_ok'), 1)
})

t.test('reload: an atomic save as editors do it', async t => {
  first.write('.routes.yaml.swp', config('three'))
  renameSync(join(folder, '.routes.yaml.swp'), file)
  await first.until(/reload #3: /)
  t.match(await stamp(), { text: 'three', version: 3 })
  const report = await first.ask('reload')
  t.match(report, {
    outcome: 'unchanged',
    version: 3,
    text: /^#3 is live since 20\d\d-.*Z; the files/,
  })
})

t.test('reload: a half-written file is a problem until the rest arrives', async t => {
  const whole = config('four')
  writeFileSync(file, whole.slice(0, whole.length - 30))
  await first.until(/still serving #3/)
  t.match(await stamp(), { text: 'three' })
  t.equal(await first.metric('config_reload_ok'), 0)
  const { failure } = await first.config()
  t.match(failure?.problems[0], { file: 'routes.yaml', line: Number, column: Number })
  writeFileSync(file, whole)
  await first.until(/reload #4: /)
  t.match(await stamp(), { text: 'four', version: 4 })
  t.equal((await first.config()).failure, null)
})

t.test('reload: equal content makes no new version', async t => {
  writeFileSync(file, config('four'))
  t.match(await first.ask('reload'), { outcome: 'unchanged', version: 4 })
  t.match(await stamp(), { version: 4 })
})

t.test('reload: a changed plugin source makes a new version', async t => {
  first.write('plugins/stamp.ts', upperCase)
  await first.until(/reload #5: plugins\/stamp.ts rebuilt, \d+ ms/)
  t.match(await stamp(), { text: 'FOUR', version: 5 })
})

t.test('history: readable by the owner only and without resolved values', async t => {
  const historyFolder = join(folder, 'data/history')
  const names = ['1.json', '2.json', '3.json', '4.json', '5.json']
  await eventually(() => readdirSync(historyFolder).sort().join() === names.join() || undefined)
  for (const name of readdirSync(historyFolder)) {
    t.equal(statSync(join(historyFolder, name)).mode & 0o777, 0o600)
    const text = readFileSync(join(historyFolder, name), 'utf8')
    t.notMatch(text, SECRET)
    t.match(text, '${SECRET}')
  }
})

t.test('rollback: restores the previous version, repeatedly', async t => {
  t.match(await first.ask('rollback'), { outcome: 'live', version: 6, text: /back to #4/ })
  t.match(await stamp(), { text: 'four', version: 6 }, 'with the plugin of that version')
  t.match(await first.ask('rollback'), { outcome: 'live', version: 7, text: /back to #3/ })
  t.match(await stamp(), { text: 'three', version: 7 })
  t.match(await first.ask('rollback?to=1'), { outcome: 'live', version: 8 })
  t.match(await stamp(), { text: 'one', version: 8 })
  const nowhere = await first.ask('rollback')
  t.match(nowhere, { outcome: 'problems', version: 8, problems: [{ code: 'NO_VERSION' }] })
})

t.test('rollback: stays live until the configuration changes or a reload is requested', async t => {
  const countUnchanged = () => first.metric('reloads_total{outcome="unchanged"}')
  const before = await countUnchanged()
  first.write('plugins/README.txt', 'a change in a watched folder, but none of the configuration')
  await eventually(async () => ((await countUnchanged()) === before ? undefined : true))
  t.match(await stamp(), { text: 'one', version: 8 })
  t.match(await first.ask('reload'), { outcome: 'live', version: 9 })
  t.match(await stamp(), { text: 'FOUR', version: 9 })
  t.match(await first.ask('rollback'), { outcome: 'live', version: 10 })
  rmSync(join(folder, 'plugins/README.txt'))
})

t.test('version numbers: continue after a restart', async t => {
  first.child.kill('SIGTERM')
  t.equal(await first.exitCode(), 0)
  t.notOk(existsSync(join(folder, 'data/run.json')))
  const second = await startPrimary(t, { files: {}, folder, env })
  t.match(await stamp(second), { text: 'FOUR', version: 11 })
  second.child.kill('SIGTERM')
  t.equal(await second.exitCode(), 0)
  const third = await startPrimary(t, { files: {}, folder, env })
  t.match(await stamp(third), { text: 'FOUR', version: 11 }, 'equal content is the same version')
})
