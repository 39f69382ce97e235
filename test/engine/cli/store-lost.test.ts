/** A start without a store, or without a folder for it: one sentence that names the setting, no plugin blamed, exit 3. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { operatorEnv, swiftly } from '../../helpers/operator.ts'
import { tollgate } from '../../helpers/terminal.ts'

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
const start = (t: Test, given: object, data: string) => {
  const folder = t.testdir({ ...files, ...given })
  const [program, args] = swiftly(bin, 'start', '-c', join(folder, 'routes.yaml'))
  const env = operatorEnv({ TOLLGATE_DATA: join(folder, data) })
  const { status, stderr } = spawnSync(program, args, { env, encoding: 'utf8' })
  return { status, said: stderr.split('\n').filter(line => line !== '' && !line.startsWith('{')) }
}

t.test('a file that is no database', async t => {
  const broken = { data: { 'tollgate.db': 'x'.repeat(8192) } }
  const { status, said } = start(t, broken, 'data')
  t.equal(status, 3)
  t.match(said, [/^file is not a database; the store is .*tollgate\.db, set by settings\.data/])
  t.equal(said.length, 1)
})

t.test(
  'of a command, too: what it was asked is not answered, rather than answered with no',
  async t => {
    const plugins = fileURLToPath(new URL('../../../plugins', import.meta.url))
    const routes = `settings: { data: '\${TOLLGATE_DATA}', plugins: ['${plugins}'] }
pipeline: [meter]
routes: []
`
    const folder = t.testdir({ 'routes.yaml': routes, data: { 'tollgate.db': 'x'.repeat(8192) } })
    const env = {
      TOLLGATE_CONFIG: join(folder, 'routes.yaml'),
      TOLLGATE_DATA: join(folder, 'data'),
    }
    const { code, err } = await tollgate(['audit', 'ledger'], env)
    t.equal(code, 3)
    t.match(err, /STORE_START {2}The store could not start: file is not a database/)
  },
)

t.test('a data folder that is none', async t => {
  const { status, said } = start(t, { data: 'a file' }, 'data')
  t.equal(status, 3)
  t.match(said, [/^DATA_FOLDER {2}the data folder ".*data" cannot be used: .*TOLLGATE_DATA/])
  t.equal(said.length, 1)
  const config = join(t.testdirName, 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: join(t.testdirName, 'data') }
  t.match(await tollgate(['check'], env), { code: 0, out: /no problems/ }, 'a check needs none')
})
