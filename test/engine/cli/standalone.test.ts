/** Commands that need no routes: while routes.yaml is broken, and without a store. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const PLUGIN = `export default {
  schema: {},
  setup: () => { throw new Error('a standalone command runs no setup') },
  commands: {
    items: {
      summary: 'Items.',
      standalone: true,
      subcommands: {
        count: {
          summary: 'Counts.', example: 'items count',
          async run(_, { database, section }) {
            const rows = await database.read({ name: 'count', text: 'SELECT 1 AS one' }, [])
            return { rows: [{ count: rows.length, word: section('words').word ?? 'none' }] }
          },
        },
        routes: {
          summary: 'Wants routes.', example: 'items routes',
          run: async (_, { match }) => ({ text: match('GET', '/a').route.pattern }),
        },
        upstreams: {
          summary: 'Wants upstreams.', example: 'items upstreams',
          run: async (_, { upstreams }) => ({ text: Object.keys(upstreams).join() }),
        },
      },
    },
  },
  sections: { words: { type: 'object' } },
}
`
const ROUTES =
  "settings: { data: '${TOLLGATE_DATA}' }\nwords: { word: yes }\npipeline: [item]\nroutes: []\n"

const makeGateway = async (t: Test) => {
  const folder = t.testdir({ 'routes.yaml': ROUTES, plugins: { 'item.ts': PLUGIN } })
  const config = join(folder, 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: join(folder, 'data') }
  return { folder, config, env, run: (...args: string[]) => tollgate(args, env) }
}
const makeStore = async (data: string): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data, start: true })
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.close()
}

t.test('standalone command: makes no store and says which one it looked for', async t => {
  const { env, run } = await makeGateway(t)
  const { code, err } = await run('items', 'count')
  t.equal(code, 3)
  t.match(err, `There is no store at sqlite:${env.TOLLGATE_DATA}/tollgate.db. Commands create none`)
  t.notOk(existsSync(env.TOLLGATE_DATA))
})

t.test('standalone command: refuses a store without tables', async t => {
  const { env, run } = await makeGateway(t)
  const database = await openDatabase({ url: 'sqlite:', data: env.TOLLGATE_DATA, start: true })
  await database.close()
  t.match(await run('items', 'count'), { code: 3, err: /has no tables of Tollgate/ })
})

t.test('standalone command: says on stderr which store it uses', async t => {
  const { env, run } = await makeGateway(t)
  await makeStore(env.TOLLGATE_DATA)
  t.match(await run('items', 'count'), {
    code: 0,
    out: /^count +word\n1 +yes$/,
    err: `store: sqlite:${env.TOLLGATE_DATA}/tollgate.db`,
  })
  t.match(await run('items', 'cuont'), { code: 2, err: /did you mean "count"/ })
  t.match(await run('itemz', 'count'), { code: 2, err: /did you mean "items"/ })
})

t.test(
  'standalone command: one that uses routes or upstreams gets the whole configuration',
  async t => {
    const { config, run } = await makeGateway(t)
    const upstreams = "upstreams: { up: { url: 'http://127.0.0.1:1' } }\n"
    const routes = ROUTES.replace('[]', '[{ path: GET /a, upstream: up }]')
    writeFileSync(config, upstreams + routes)
    t.match(await run('items', 'routes'), { code: 0, out: '/a' })
    t.match(await run('items', 'upstreams'), { code: 0, out: 'up' })
    writeFileSync(config, `${upstreams}${routes}listn: 8080\n`)
    t.match(await run('items', 'routes'), { code: 1, err: /did you mean "listen"|UNKNOWN_KEY/ })
  },
)

t.test('standalone command: works while a setting or the whole file is broken', async t => {
  const { env, config, run } = await makeGateway(t)
  await makeStore(env.TOLLGATE_DATA)
  writeFileSync(config, `${ROUTES}listn: 8080\n`)
  t.match(await run('items', 'count'), { code: 0, out: /yes/ })
  writeFileSync(config, `${ROUTES}x: [`)
  t.match(await run('items', 'count'), { code: 1 }, 'no version ever went live')
  const files = { 'routes.yaml': ROUTES.replace('yes', 'earlier') }
  const entry = { version: 4, hash: 'x', time: '2026-01-01T00:00:00Z', files, plugins: [] }
  mkdirSync(join(env.TOLLGATE_DATA, 'history'))
  const archive = (plugins: object[]) =>
    writeFileSync(join(env.TOLLGATE_DATA, 'history/4.json'), JSON.stringify({ ...entry, plugins }))
  const bundle = join(env.TOLLGATE_DATA, 'item.mjs')
  writeFileSync(bundle, PLUGIN)
  archive([{ name: 'item', file: 'plugins/item.ts', bundle, hash: 'x' }])
  t.match(await run('items', 'count'), {
    code: 0,
    out: /earlier/,
    err: /routes\.yaml has problems \(see: tollgate check\); this command uses version #4/,
  })
})
