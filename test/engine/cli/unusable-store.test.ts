/** A start with an unusable store or data folder: one sentence with the setting, exit code 3. */
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { measuredCommand, operatorEnv, withoutBuilding } from '../../helpers/operator.ts'

const bin = fileURLToPath(new URL('../../../engine/bin.cjs', import.meta.url))
const KEEPER = `export default {
  schema: {}, migrations: [{ number: 1, text: 'CREATE TABLE kept (id INTEGER PRIMARY KEY)' }],
  setup: () => ({ answers: true, handle(exchange) { exchange.answer(200, {}) } }),
}
`
const ROUTES = `
settings: { data: '\${TOLLGATE_DATA}', listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers: 1 }
pipeline: [keeper]
routes: [{ path: GET /, keeper: {} }]
`
const files = { 'routes.yaml': ROUTES, plugins: { 'keeper.ts': KEEPER } }
const start = (t: Test, ownFiles: object, data: string) => {
  const folder = t.testdir({ ...files, ...ownFiles })
  const [program, args] = measuredCommand(bin, 'start', '-c', join(folder, 'routes.yaml'))
  const env = operatorEnv({ TOLLGATE_DATA: resolve(folder, data), TOLLGATE_PLUGINS: 'none' })
  const { status, stderr } = spawnSync(program, args, { env, encoding: 'utf8' })
  const lines = withoutBuilding(stderr).split('\n')
  return { status, said: lines.filter(line => line !== '' && !line.startsWith('{')) }
}

t.test('start: a store file that is not a database exits 3 with one sentence', async t => {
  const brokenStore = { data: { 'tollgate.db': 'x'.repeat(8192) } }
  const { status, said: lines } = start(t, brokenStore, 'data')
  t.equal(status, 3)
  t.match(lines, [/^file is not a database; the store is .*tollgate\.db, set by settings\.data/])
  t.equal(lines.length, 1)
})

t.test(
  'audit: a store file that is not a database exits 3 instead of reporting no findings',
  async t => {
    const plugins = fileURLToPath(new URL('../../../plugins', import.meta.url))
    const routes = `settings: { data: '\${TOLLGATE_DATA}', plugins: ['${plugins}'] }
pipeline: [meter]
routes: []
`
    const folder = t.testdir({ 'routes.yaml': routes, data: { 'tollgate.db': 'x'.repeat(8192) } })
    usedFolder(join(folder, 'data'))
    const env = {
      TOLLGATE_CONFIG: join(folder, 'routes.yaml'),
      TOLLGATE_DATA: join(folder, 'data'),
    }
    const { code, err } = await tollgate(['audit', 'ledger'], env)
    t.equal(code, 3)
    t.match(err, /The store could not start: file is not a database/)
  },
)

t.test('start: a data folder that is a file exits 3; check does not need it', async t => {
  const { status, said: lines } = start(t, { data: 'a file' }, 'data')
  t.equal(status, 3)
  t.match(lines, [/^DATA_FOLDER {2}the data folder ".*data" cannot be used: .*TOLLGATE_DATA/])
  t.equal(lines.length, 1)
  const config = join(t.testdirName, 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: join(t.testdirName, 'data') }
  t.match(
    await tollgate(['check'], env),
    { code: 0, out: /no problems/ },
    'check needs no data folder',
  )
})

t.test('start: a data folder below one that takes no folders is DATA_FOLDER at once', async t => {
  const { status, said: lines } = start(t, {}, '/proc/x')
  t.equal(status, 3)
  t.match(lines, [
    /^DATA_FOLDER {2}the data folder "\/proc\/x" cannot be used: ENOENT.*TOLLGATE_DATA/,
  ])
  const command = await tollgate(['check', '-c', join(t.testdirName, 'routes.yaml')], {
    TOLLGATE_DATA: '/proc/x',
  })
  t.match(command, { code: 0, out: /no problems/ })
})
