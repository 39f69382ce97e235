/** `host.gateway`: a plugin's route shows the routes, status, history, files and problems of a
 *  gateway with two workers, reloads it and rolls it back. */
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import type {
  ConfigFiles,
  FileDiff,
  GatewayStatus,
  ProblemView,
  ReloadReport,
  RouteView,
  VersionView,
} from '../../engine/plugin.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import {
  eventually,
  folderWith,
  getAlone,
  routes,
  startPrimary,
} from '../helpers/gateway/primary.ts'

/** Runs a call of `host.gateway`, and answers who ran it. */
const CONSOLE = `
export default {
  schema: {},
  setup: (_, host) => ({
    answers: true,
    describe: () => ({ body: { 'application/json': { type: 'object', maxProperties: 3 } } }),
    async handle(exchange) {
      const { call } = exchange.params
      const args = JSON.parse(exchange.request.query.get('args') ?? '[]')
      const { gateway } = host
      try {
        const value = call === 'routes' ? gateway.routes : await gateway[call](...args)
        exchange.answer(200, { pid: process.pid, value })
      } catch ({ code, status, message }) {
        exchange.answer(status ?? 500, { pid: process.pid, value: { code, message } })
      }
    },
  }),
}
`
const ROUTES = (text: string): string =>
  `${routes(text)}  - { path: 'GET /gateway/{call}', name: gateway, console: { of: operators } }
  - { path: GET /refused, name: refused, upstream: up }
upstreams:
  up: { url: http://127.0.0.1:__PORT__, key: [one, two] }
`.replace('pipeline: [stamp,', 'pipeline: [console, stamp,')

const upstream = createServer((_, response) => response.writeHead(401).end())
await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
t.teardown(() => {
  upstream.close()
  upstream.closeAllConnections()
})
const { port } = upstream.address() as { readonly port: number }
const configOf = (text: string): string => ROUTES(text).replace('__PORT__', String(port))

const primary = await startPrimary(t, {
  workers: 2,
  files: { ...folderWith(), 'routes.yaml': configOf('one'), 'plugins/console.ts': CONSOLE },
})
interface Answer<Value> {
  readonly pid: number
  readonly value: Value
}
const call = async <Value>(name: string, ...args: readonly unknown[]): Promise<Answer<Value>> => {
  const query = new URLSearchParams({ args: JSON.stringify(args) })
  const { text } = await getAlone(`${primary.url}/gateway/${name}?${query}`)
  return JSON.parse(text) as Answer<Value>
}

t.test('gateway calls: the routes name stages, options, schema and place', async t => {
  const { value } = await call<readonly RouteView[]>('routes')
  t.same(value[3], {
    name: 'gateway',
    method: 'GET',
    path: '/gateway/{call}',
    stages: ['console'],
    options: { console: { of: 'operators' } },
    upstreams: [],
    schema: { type: 'object', maxProperties: 3 },
    about: { body: { 'application/json': { type: 'object', maxProperties: 3 } } },
    place: { file: 'routes.yaml', line: value[3]?.place?.line },
  })
  const line = configOf('one').split('\n')[(value[3]?.place?.line ?? 0) - 1]
  t.match(line, /GET \/gateway\/\{call\}/)
  t.match(value[4], { name: 'refused', upstreams: ['up'] })
  t.match(value[0], { options: { stamp: { text: 'one' } } })
})

t.test('gateway calls: the status merges the health that both workers see', async t => {
  const pids = new Set<number>()
  await eventually(async () => {
    // Connections alternate between the workers: an odd number of them in each round.
    await getAlone(`${primary.url}/refused`)
    await getAlone(`${primary.url}/refused`)
    const { pid, value } = await call<GatewayStatus>('status')
    pids.add(pid)
    const [first, second] = value.keys.up ?? []
    return first?.workers.resting === 2 && second?.workers.resting === 2 && pids.size === 2
  })
  const { value } = await call<GatewayStatus>('status')
  t.match(value, { version: 1, url: primary.url, failure: null, unready: [] })
  t.equal(value.workers.length, 2)
  t.same(value.upstreams.up, [
    {
      address: `http://127.0.0.1:${port}`,
      busy: 0,
      conversations: { own: 0, moved: 0 },
      warming: [],
      state: 'ready',
      since: null,
      workers: { ready: 2 },
    },
  ])
  const [first] = value.keys.up ?? []
  t.match(first, { state: 'resting', workers: { resting: 2 }, limited: [] })
  t.ok((first?.seconds ?? 0) > 0)
  t.ok(Date.now() - Number(first?.since) < 600_000, 'since when it rests')
})

t.test('gateway calls: a typo is the same problem in a check, a command and a reload', async t => {
  const broken = configOf('one').replace('upstream: up }', 'upstraem: up }')
  const { value } = await call<readonly ProblemView[]>('check', broken)
  const [problem] = value
  t.match(problem, {
    code: String,
    message: /upstraem/,
    suggestion: 'upstream',
    file: 'routes.yaml',
  })
  primary.write('routes.yaml', broken)
  const { failure } = await primary.state(view => view.failure !== null)
  const plain = value.map(({ text, hint, ...rest }) => {
    t.match(hint, /^Allowed keys: /, 'the sentence of the editor')
    t.equal(text, `${rest.message}; did you mean "upstream"?`, 'the sentence of the console')
    return rest
  })
  t.same(failure?.problems, plain, 'the reload')
  const config = join(primary.folder, 'routes.yaml')
  const checked = await tollgate(['check', '--json'], { TOLLGATE_CONFIG: config })
  const { problems } = JSON.parse(checked.out) as { readonly problems: readonly ProblemView[] }
  t.same(problems, [{ ...plain[0], file: config }], 'the command')
  const printed = await tollgate(['check'], { TOLLGATE_CONFIG: config })
  for (const text of [failure?.text ?? '', printed.out + printed.err]) {
    t.match(text, problem?.message ?? '?')
    t.match(text, /upstream/)
    t.match(text, `:${problem?.line}:${problem?.column}`)
  }
  primary.write('routes.yaml', configOf('one'))
  await primary.state(view => view.failure === null)
})

t.test('gateway calls: a text is checked in place of a file, without going live', async t => {
  const broken = configOf('one').replace('GET /stamp', 'POTS /stamp').replace('up }', 'upp }')
  const { value } = await call<readonly ProblemView[]>('check', broken)
  const at = (text: string) => broken.split('\n').findIndex(line => line.includes(text)) + 1
  t.ok(value.length >= 2)
  for (const text of ['POTS /stamp', 'upp }'])
    t.ok(
      value.some(({ line, column, file }) => line === at(text) && column > 1 && file),
      text,
    )
  t.same((await call('check', configOf('one'))).value, [])
  const include = 'routes: [{ path: GET /more, nothing: 1 }]'
  const main = `include: [more/*.yaml]\n${configOf('one')}`
  primary.write('more/some.yaml', 'routes: []')
  t.match((await call('check', main)).value, [])
  t.match((await call('check', include, 'more/new.yaml')).value, [], 'no pattern names it')
  t.equal((await primary.config()).version, 1)
})

t.test('gateway calls: a reload reports problems with frames, then goes live', async t => {
  primary.write('routes.yaml', configOf('one').replace('GET /stamp', 'POTS /stamp'))
  const failed = (await call<ReloadReport>('reload')).value
  t.match(failed, { outcome: 'problems', version: 1 })
  const { failure } = (await call<GatewayStatus>('status')).value
  t.equal(failure?.problems.length, failed.problems?.length)
  t.match(failure?.text, /POTS \/stamp[\s\S]*\^/, 'with the line of the file')
  primary.write('routes.yaml', configOf('two'))
  await eventually(async () => (await primary.config()).version === 2)
  t.match((await call('reload')).value, { outcome: 'unchanged', version: 2 })
  t.match((await call<GatewayStatus>('status')).value, { version: 2, failure: null })
})

t.test('gateway calls: the history has the texts of each version and their diff', async t => {
  const { value } = await call<readonly VersionView[]>('history')
  t.match(value, [
    { version: 2, isLive: true, change: /stamp/, files: ['routes.yaml'] },
    { version: 1, isLive: false },
  ])
  t.same((await call<ConfigFiles>('files', 1)).value, { 'routes.yaml': configOf('one') })
  primary.write('routes.yaml', configOf('three'))
  t.same((await call<ConfigFiles>('files')).value, { 'routes.yaml': configOf('three') }, 'the disk')
  const [diff] = (await call<readonly FileDiff[]>('diff', 1, 2)).value
  t.equal(diff?.file, 'routes.yaml')
  const changed = diff?.lines.filter(line => /^[-+]/.test(line))
  t.match(changed, [/^- .*text: one/, /^\+ .*text: two/], 'removed lines first')
  t.match(diff?.lines[0], /^@@ -\d+,7 \+\d+,7 @@$/)
  t.match((await call('files', 99)).value, { code: 'NO_VERSION', message: /#99/ })
})

t.test('gateway calls: a rollback puts a stored version live again', async t => {
  await eventually(async () => (await primary.config()).version === 3)
  t.match((await call<ReloadReport>('rollback', 1)).value, { outcome: 'live', version: 4 })
  t.match((await getAlone(`${primary.url}/stamp`)).text, /"text":"one"/)
  t.match((await call<ReloadReport>('rollback', 99)).value, { problems: [{ code: 'NO_VERSION' }] })
  const { failure } = (await call<{ failure?: object }>('status')).value as { failure?: object }
  t.notOk(failure, 'a wrong number is not a problem of the configuration')
  t.match((await call<readonly VersionView[]>('history')).value[0], { version: 4, from: 1 })
})
