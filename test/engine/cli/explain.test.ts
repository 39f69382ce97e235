/** `tollgate explain`: runs the real stages of a configuration and sends nothing to an upstream. */
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { listen } from '../../helpers/gateway/chat-upstream.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

/** `gate` refuses other keys and fills a slot that `greet` reads; `shift` changes the upstream
 *  request; `local` answers. */
const PLUGINS = {
  'gate.ts': `export default {
    schema: {}, setup: () => ({
      async handle(exchange, next) {
        if (exchange.request.headers.authorization !== 'Bearer sk-customer-0123456789')
          throw Object.assign(new Error('Who are you?'), { code: 'GATE_SHUT', status: 401, expose: true })
        exchange.slots.set({ name: 'who' }, 'ann')
        await next()
      },
    }),
  }`,
  'greet.ts': `export default {
    schema: {}, setup: () => ({
      async handle(exchange, next) {
        await exchange.request.json()
        await next()
        exchange.reply.headers['x-greeting'] = 'hello'
      },
      explain: exchange => ({ greets: exchange.slots.need({ name: 'who' }) }),
    }),
  }`,
  'shift.ts': `export default {
    schema: {}, setup: to => ({
      async forward(attempt, next) {
        attempt.request.path += to
        attempt.request.headers['x-shifted'] = 'yes'
        attempt.request.body = Buffer.from('{"b":2}')
        await next()
      },
    }),
  }`,
  'local.ts': `export default { schema: {}, setup: () => ({
    answers: true, async handle(exchange) { exchange.answer(200, { ok: true }) },
  }) }`,
  'bill.ts': `export default {
    schema: {}, setup: () => ({
      async handle(exchange, next) {
        exchange.slots.need({ name: 'who' })
        await next()
      },
    }),
  }`,
  'seal.ts': `export default { schema: {}, setup: () => ({}), auth: {
    schema: {}, setup: () => () => { throw new Error('explain signs nothing') },
  } }`,
  'early.ts': `export default { schema: {}, setup: () => ({
    handle: (_, next) => next(),
    explain: exchange => ({ knows: exchange.slots.get({ name: 'who' }) ?? null }),
  }) }`,
  'mute.ts': 'export default { schema: {}, setup: () => ({ async handle() {} }) }',
}

const upstream = async (t: Test) => {
  let connections = 0
  const server = createServer((_, response) => response.end('no'))
  server.on('connection', () => connections++)
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}`, connections: () => connections }
}

const project = (t: Test, url: string): string =>
  `${t.testdir({
    plugins: PLUGINS,
    'body.json': '{"a":1}',
    'bad.json': '{"a":',
    'routes.yaml': `
settings: { data: '${t.testdirName}' }
pipeline: [early, gate, bill, greet, shift, mute, local]
upstreams:
  up: { url: '${url}/base', key: sk-upstream-0123456789, headers: { set: { x-secret: '\${WORD}' } } }
  header: { url: '${url}', key: [sk-first-key, sk-second-key], auth: { header: X-Api-Key } }
  query: { url: '${url}', key: sk-query-key, auth: { query: key } }
  sealed: { url: '${url}', auth: { seal: { secret: sk-seal } } }
routes:
  - { path: 'POST /items/{id}', upstream: [up, { to: header }], gate: {}, greet: {}, shift: /more }
  - { path: GET /early, upstream: up, early: {}, gate: {} }
  - { path: GET /header, upstream: header, rewrite: /elsewhere }
  - { path: GET /query, upstream: query }
  - { path: GET /sealed, upstream: sealed }
  - { path: GET /billed, upstream: up, gate: {}, bill: {} }
  - { path: GET /local, local: {} }
  - { path: GET /mute, mute: {}, upstream: up }
  - { path: WS /live, upstream: up }
`,
  })}/routes.yaml`
const ENV = { WORD: 'a-very-secret-word' }
const KEY = 'sk-customer-0123456789'

t.test(
  'explain: shows route, stages, targets and upstream request, without sending it',
  async t => {
    const { url, connections } = await upstream(t)
    const config = project(t, url)
    const body = config.replace('routes.yaml', 'body.json')
    const argv = ['explain', 'post', '/items/7?x=1', '-b', body, '-k', KEY, '-c', config]
    const { code, out, err } = await tollgate([...argv, '--json'], ENV)
    t.equal(err, '')
    t.equal(code, 0)
    t.match(JSON.parse(out), {
      route: { method: 'POST', pattern: '/items/{id}', params: { id: '7' } },
      stages: [
        { stage: 'gate', ring: 'handle', outcome: 'passes' },
        { stage: 'greet', ring: 'handle', outcome: 'passes', says: { greets: 'ann' } },
        { stage: 'shift', ring: 'forward', outcome: 'passes' },
      ],
      targets: [{ upstream: 'up' }, { upstream: 'header' }],
      request: {
        method: 'POST',
        url: `${url}/base/items/7?x=1/more`,
        headers: {
          'content-type': 'application/json',
          'x-shifted': 'yes',
          'x-secret': '***',
          authorization: 'Bearer ***',
          traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
        },
        body: '{"b":2}',
      },
    })
    const pretty = await tollgate(argv, ENV)
    t.match(pretty.out, /^POST \/items\/7\?x=1\n {2}route +POST \/items\/\{id\} id=7\n/)
    t.match(pretty.out, /stage +greet +passes {2}\{"greets":"ann"\}/)
    t.match(pretty.out, /target +up, then header/)
    t.match(pretty.out, /\nauthorization: Bearer \*\*\*\n/)
    for (const secret of [KEY, 'sk-upstream', ENV.WORD])
      t.notOk((out + pretty.out).includes(secret), `${secret} is not shown`)
    t.equal(connections(), 0, 'nothing was sent')
  },
)

t.test('explain: records a refusal and continues with the next stage', async t => {
  const { url } = await upstream(t)
  const config = project(t, url)
  const body = config.replace('routes.yaml', 'bad.json')
  const argv = ['explain', 'POST', '/items/7', '--body', body, '-c', config]
  const { code, out } = await tollgate([...argv, '--json'], ENV)
  t.equal(code, 0)
  const [gate, greet, shift] = JSON.parse(out).stages
  t.same(gate.refusal, { status: 401, code: 'GATE_SHUT', message: 'Who are you?' })
  t.match(greet, { stage: 'greet', outcome: 'refuses', refusal: { status: 400 } })
  t.notOk('says' in greet, 'its explanation needs a slot that is empty')
  t.match(shift, { stage: 'shift', outcome: 'passes' })
  const text = (await tollgate(argv, ENV)).out
  t.match(text, /stage +gate +refuses {2}401 GATE_SHUT: Who are you\?/)
  t.match(text, /attempt +shift +does not run; without the refusal it passes/)
})

t.test('explain: shows no error of a stage that depends on the one that refused', async t => {
  const { url } = await upstream(t)
  const config = project(t, url)
  const { out } = await tollgate(['explain', 'GET', '/billed', '-c', config], ENV)
  t.match(out, /stage +gate +refuses {2}401 GATE_SHUT: Who are you\?/)
  t.match(out, /stage +bill +unknown: it depends on the stage that refuses/)
  t.notMatch(out, / 500 /)
  const known = await tollgate(['explain', 'GET', '/billed', '-k', KEY, '-c', config], ENV)
  t.match(known.out, /stage +bill +passes/)
})

t.test('explain: masks the credentials of an upstream in headers and queries', async t => {
  const { url } = await upstream(t)
  const config = project(t, url)
  const request = async (path: string) =>
    JSON.parse((await tollgate(['explain', 'GET', path, '--json', '-c', config], ENV)).out).request
  t.match(await request('/header'), { url: `${url}/elsewhere`, headers: { 'x-api-key': '***' } })
  t.match(await request('/query?a=b'), { url: `${url}/query?a=b&key=***` })
  t.match(await request('/query'), { url: `${url}/query?key=***` })
  t.match(await request('/sealed'), { headers: { authorization: '*** (seal)' } })
  const argv = ['explain', 'GET', `/query?repeated=${KEY}`, '-k', KEY, '-c', config]
  t.match((await tollgate(argv, ENV)).out, /query\?repeated=\*\*\*&/, 'the key of the client')
})

t.test('explain: shows stages that answer and stages that do nothing', async t => {
  const { url } = await upstream(t)
  const config = project(t, url)
  const explain = async (path: string) =>
    (await tollgate(['explain', 'GET', path, '-c', config], ENV)).out
  t.match(await explain('/local'), /stage +local +answers\n {2}target +none/)
  t.match(await explain('/mute'), /stage +mute +neither answers nor calls next\(\)/)
  t.match(await explain('/mute'), /target +up/)
})

t.test('explain: shows a missing route, allowed methods, WebSockets and refused paths', async t => {
  const { url } = await upstream(t)
  const config = project(t, url)
  const explain = (...argv: string[]) => tollgate(['explain', ...argv, '-c', config], ENV)
  t.match(await explain('GET', '/none'), { code: 0, out: /404: no route/ })
  t.match(await explain('GET', '/items/7'), { code: 0, out: /405: the path has POST/ })
  t.match(await explain('WS', '/live'), { code: 0, out: /route +WS \/live\n {2}target +up/ })
  t.match(await explain('GET', '/a/..%2fb'), { code: 3, err: /path is not acceptable/ })
  t.match(await explain('POST', 'items/7'), { code: 2, err: /^a path begins with "\/"/ })
  t.match(await explain('POST', '/items/7', '-b', '/nowhere'), { code: 2, err: /cannot read/ })
  t.match(await explain('GET', '/items/7', '--header', 'no colon'), {
    code: 2,
    err: /--header needs 'NAME: VALUE', not "no colon"/,
  })
})

t.test('explain: a stage explains what later stages have decided', async t => {
  const { url } = await upstream(t)
  const config = project(t, url)
  const { out } = await tollgate(['explain', 'GET', '/early', '-k', KEY, '-c', config], ENV)
  t.match(out, /early .*knows.*ann/)
})
