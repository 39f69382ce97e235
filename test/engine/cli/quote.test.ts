/** `tollgate quote`: the price of a request on its route, or that there is no route. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { type CommandResult, tollgate } from '../../helpers/gateway/command-line.ts'
import { startStore } from '../../helpers/store/store.ts'

/** A running store, as beside a gateway, so that no command starts a writer. It is not awaited at
 *  the top level, where the test would count as ended. */
const starting = startStore(t)
const PLUGINS = join(import.meta.dirname, '../../../plugins')
const dataFolder = starting.then(({ data }) => usedFolder(data))
const folder = t.testdir({
  'body.json': '{"model":"gp","max_tokens":10}',
  'free.json': '{"model":"gift"}',
  'search.json': '{"model":"gp","max_tokens":10,"tools":[{"type":"web_search"}]}',
  'firm.json': '{"model":"firm","tools":[{"type":"web_search"}]}',
  'other.json': '{"model":"nosuch"}',
  'bad.json': '{"model":',
  'none.json': '{}',
  'tier.json': '{"model":"passed","max_tokens":10,"service_tier":"priority"}',
  'vector.json': '{"model":"vector","input":["one","two"]}',
  'routes.yaml': `
settings: { data: '\${DATA}', plugins: ['${PLUGINS}'], currency: { name: CNY } }
pipeline: [auth, model, meter, embed, sandbox]
upstreams: { up: { url: 'sandbox:' } }
models:
  gp: { to: up/gp, price: { input: 1 / 1M, output: 2 / 1M }, output: 100, context: 1000 }
  gift: { to: up/gift, free: true }
  firm: { to: up/gp, price: { calls: 1 }, unpriced: refuse }
  passed: { to: up/gp, tiers: pass, price: { input: 1 / 1M, output: 2 / 1M }, output: 100 }
  vector: { to: up/gp, price: { input: 1 / 1M }, context: 1000 }
routes:
  - { path: POST /plain, auth: key, model: body }
  - { path: POST /count, auth: key, model: body, meter: { free: true } }
  - { path: POST /dear, auth: key, model: body, meter: { price: { calls: 5 } } }
  - { path: POST /embed, auth: key, model: body, embed: openai }
  - { path: 'POST /in/{name}:go', auth: key, model: { path: name } }
  - { path: GET /models, auth: key, model: { list: openai } }
  - { path: 'WS /live/{name}', auth: key, model: { path: name } }
`,
})

/** The output, through the terminal or directly to stdout and stderr. */
const quote = async (t: Test, ...argv: readonly string[]): Promise<CommandResult> => {
  const [out, err] = [process.stdout, process.stderr].map(stream => t.capture(stream, 'write'))
  const config = ['--config', join(folder, 'routes.yaml')]
  const env = { DATA: await dataFolder }
  const {
    code,
    out: terminalOut,
    err: terminalErr,
  } = await tollgate(['quote', ...argv, ...config], env).finally(() => {
    out?.restore()
    err?.restore()
  })
  const text = (capture: typeof out) => capture?.args().flat().join('') ?? ''
  return {
    code,
    out: text(out) + (terminalOut && `${terminalOut}\n`),
    err: text(err) + terminalErr,
  }
}
const body = (name = 'body'): string[] => ['--body', join(folder, `${name}.json`)]

t.test('quote: options of the route override the price of the model', async t => {
  const { out } = await quote(t, 'POST', '/plain', ...body())
  t.equal(out, '0.00005 CNY at most: 30 input x 1.00/1M + 10 output x 2.00/1M = 0.00005\n')
  t.match(await quote(t, 'post', '/count', ...body()), {
    code: 0,
    out: '0 CNY: the route is free\n',
  })
  t.match(await quote(t, 'POST', '/dear', ...body()), {
    code: 0,
    out: /^5 CNY at most: 1 call x 5/,
  })
  t.match(await quote(t, 'GET', '/models'), { code: 0, out: '0 CNY: the route calls no model\n' })
  t.match(await quote(t, 'POST', '/plain', ...body('free')), {
    out: /^0 CNY: the model gift is free/,
  })
  t.match(await quote(t, 'WS', '/live/gp'), {
    code: 0,
    out: /CNY at most: 1,000 input x 1.00\/1M/,
  })
  const quoteInPath = await quote(t, 'POST', '/in/gp:go', ...body('other'), '--json')
  t.match(JSON.parse(quoteInPath.out), { route: 'POST /in/{name}:go', model: 'gp', lacking: [] })
})

t.test('quote: a tool without a price is free, or refused where the model says so', async t => {
  const { code, out } = await quote(t, 'POST', '/plain', ...body('search'))
  t.equal(code, 0)
  t.match(out, /CNY at most: .*\nfree, named as unpriced: web_search\n$/)
  const json = await quote(t, 'POST', '/plain', ...body('search'), '--json')
  t.match(JSON.parse(json.out), { lacking: [], unpriced: ['web_search'] })
  t.match(await quote(t, 'POST', '/plain', ...body('firm')), {
    code: 3,
    out: /without a price or a bound: web_search/,
  })
})

t.test('quote: a missing route exits 3, with the same text as explain', async t => {
  t.match(await quote(t, 'POST', '/nope', ...body()), { code: 3, out: '404: no route\n' })
  t.match(await quote(t, 'GET', '/plain', ...body()), { code: 3, out: '405: the path has POST\n' })
  const { out } = await quote(t, 'GET', '/plain', '--json')
  t.same(JSON.parse(out), { route: null, allowed: ['POST'] })
})

t.test('quote: wrong use exits 2, an unknown model exits 3', async t => {
  t.match(await quote(t, 'POST'), { code: 2, out: '', err: /Usage: tollgate quote METHOD PATH/ })
  t.match(await quote(t, 'POST', '/plain'), { code: 2, err: /Usage: tollgate quote METHOD PATH/ })
  t.match(await quote(t, 'POST', 'plain', ...body()), { code: 2, err: 'a path begins with "/"' })
  t.match(await quote(t, 'POST', '/plain', ...body('nofile')), { code: 2, err: /cannot read/ })
  t.match(await quote(t, 'POST', '/plain', ...body('bad')), { code: 2, err: /cannot read/ })
  const unknown = await quote(t, 'POST', '/plain', ...body('other'))
  t.match(unknown, { code: 3, out: '', err: /unknown model "nosuch"/ })
  const none = await quote(t, 'POST', '/plain', ...body('none'))
  t.match(none, { code: 3, out: '', err: 'the request names no model\n' })
})

t.test('quote: the time, tiers that pass, and vectors', async t => {
  const at = ['--at', '2030-01-31T23:30+08:00']
  t.match(await quote(t, 'POST', '/plain', ...body(), ...at), { code: 0, out: /^0\.00005 CNY/ })
  const wrong = await quote(t, 'POST', '/plain', ...body(), '--at', 'tomorrow')
  t.match(wrong, { code: 2, err: /--at must be a time with its offset/ })
  t.match(await quote(t, 'POST', '/plain', ...body('tier')), { code: 0, out: /10 output x 2/ })
  t.match(await quote(t, 'POST', '/embed', ...body('vector')), { code: 0, out: /input x 1/ })
})
