/** Plugin `cors`: pages of allowed origins can call a route and read its answers and errors; a
 *  preflight request needs no key and reaches no upstream. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Plugin } from '../../engine/plugin.ts'
import cors from '../../plugins/cors.ts'
import errors from '../../plugins/errors.ts'
import { usedFolder } from '../helpers/cache.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import {
  pluginOf,
  SILENT_LOG,
  startHttpUpstream,
  startTestServer,
} from '../helpers/gateway/test-server.ts'

type Document = Parameters<typeof startTestServer>[2]
const APP = 'https://app.example.com'

/** A gateway whose stage `auth` refuses requests without a key. */
const start = async (t: Test, routes: readonly object[], section?: object) => {
  const calls: string[] = []
  const address = await startHttpUpstream(t, (request, response) => {
    calls.push(`${request.method} ${request.url}`)
    const isStream = request.url === '/stream'
    const own = { 'access-control-allow-origin': 'https://provider.example', vary: 'accept' }
    const type = isStream ? 'text/event-stream' : 'application/json'
    response.writeHead(200, { ...own, 'content-type': type })
    response.end(isStream ? 'data: 1\n\n' : '{}')
  })
  const auth = pluginOf({
    async handle({ request }, next) {
      if (request.headers.authorization === undefined) throw new Error('no key')
      await next()
    },
  })
  const { url } = await startTestServer(
    t,
    { errors: errors as Plugin, cors: cors as Plugin, auth },
    {
      ...(section && { cors: section }),
      upstreams: { main: { url: address } },
      routes: routes.map(route => ({ upstream: 'main', ...route })),
    } as unknown as Document,
    SILENT_LOG,
  )
  const call = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, { method, headers })
    return { status: response.status, body: await response.text(), ...corsHeaders(response) }
  }
  const ask = (path: string, method: string, origin = APP, more: Record<string, string> = {}) =>
    call('OPTIONS', path, { origin, 'access-control-request-method': method, ...more })
  return { call, ask, calls }
}
const corsHeaders = ({ headers }: Response) => ({
  origin: headers.get('access-control-allow-origin'),
  methods: headers.get('access-control-allow-methods'),
  allowed: headers.get('access-control-allow-headers'),
  exposed: headers.get('access-control-expose-headers'),
  age: headers.get('access-control-max-age'),
  credentials: headers.get('access-control-allow-credentials'),
  vary: headers.get('vary'),
})
const NONE = { origin: null, methods: null, allowed: null, age: null, credentials: null }
const KEY = { authorization: 'Bearer k', origin: APP }

t.test('cors: a preflight is answered without a key and without the upstream', async t => {
  const section = { origins: [APP, 'https://*.preview.example.com', 'http://localhost:*'] }
  const { ask, call, calls } = await start(
    t,
    [{ path: 'GET /items/{id}' }, { path: 'POST /items/{id}' }, { path: 'GET /stream' }],
    section,
  )
  const more = { 'access-control-request-headers': 'authorization,x-stainless-os' }
  t.same(await ask('/items/7', 'POST', APP, more), {
    status: 204,
    body: '',
    origin: APP,
    methods: 'GET, POST, HEAD',
    allowed: 'authorization,x-stainless-os',
    exposed: null,
    age: '600',
    credentials: null,
    vary: 'Origin',
  })
  for (const origin of ['https://a.preview.example.com', 'http://localhost:5173'])
    t.match(await ask('/items/7', 'GET', origin), { status: 204, origin })
  for (const origin of [
    'https://evil.example',
    'http://app.example.com',
    `${APP}.evil.example`,
    'https://preview.example.com',
    'https://x.preview.example.com.evil.example',
    'https://appXexample.com',
    'http://localhost',
    'null',
  ])
    t.match(await ask('/items/7', 'POST', origin), { status: 204, ...NONE, vary: 'Origin' }, origin)
  t.match(await ask('/items/7', 'DELETE'), { status: 204, methods: 'GET, POST, HEAD' })
  t.match(await ask('/nowhere', 'GET'), { status: 404 })
  t.match(await call('OPTIONS', '/items/7', { origin: APP }), { status: 405 }, 'no preflight')
  t.same(calls, [])
})

t.test(
  'cors: answers, streams and errors carry the headers, those of upstreams do not',
  async t => {
    const routes = [{ path: 'GET /plain' }, { path: 'GET /stream' }]
    const { call, calls } = await start(t, routes, { origins: [APP] })
    for (const path of ['/plain', '/stream'])
      t.match(await call('GET', path, KEY), {
        status: 200,
        origin: APP,
        exposed: '*',
        vary: 'accept, Origin',
      })
    t.match(await call('GET', '/plain', { origin: APP }), { status: 500, origin: APP }, 'no key')
    t.match(await call('GET', '/nothing', KEY), { status: 404, origin: APP })
    t.match(await call('DELETE', '/plain', KEY), { status: 405, origin: APP })
    const other = { ...KEY, origin: 'https://evil.example' }
    t.match(await call('GET', '/plain', other), { status: 200, ...NONE, exposed: null })
    t.match(await call('GET', '/plain', { authorization: 'Bearer k' }), { ...NONE, vary: /Origin/ })
    t.equal(calls.length, 4)
  },
)

t.test('cors: a route has options of its own, or none', async t => {
  const { ask, call } = await start(
    t,
    [
      { path: 'GET /any', cors: { origins: ['*'], methods: ['GET'], max_age: '1h' } },
      { path: 'GET /own', cors: { headers: ['authorization'], expose: ['x-request-id'] } },
      { path: 'GET /signed', cors: { credentials: true } },
      { path: 'GET /closed', cors: false },
    ],
    { origins: [APP] },
  )
  t.match(await ask('/any', 'GET', 'https://x.example'), {
    origin: '*',
    methods: 'GET',
    age: '3600',
    vary: null,
  })
  t.match(await ask('/own', 'GET'), { origin: APP, allowed: 'authorization' })
  t.equal((await call('GET', '/own', KEY)).exposed, 'x-request-id')
  t.match(await ask('/signed', 'GET'), { origin: APP, credentials: 'true' })
  t.match((await call('GET', '/signed', KEY)).exposed, /content-type.*x-request-id/)
  t.match(await ask('/closed', 'GET'), { status: 405, ...NONE })
  t.match(await call('GET', '/closed', KEY), { status: 200, origin: 'https://provider.example' })
})

t.test('cors: without options nothing changes', async t => {
  const { ask, call } = await start(t, [{ path: 'GET /plain' }])
  t.match(await ask('/plain', 'GET'), { status: 405, ...NONE })
  t.match(await call('GET', '/plain', KEY), { origin: 'https://provider.example' })
})

t.test('cors: origins with a path, and credentials for every origin, are problems', async t => {
  const plugins = join(import.meta.dirname, '../../plugins')
  const problemsOf = async (section: string, route = '') => {
    const folder = t.testdir({
      'routes.yaml': `settings: { data: '${t.testdirName}/data', plugins: ['${plugins}'] }
pipeline: [errors, cors]
${section}
upstreams: { main: { url: 'http://127.0.0.1:9' } }
routes: [{ path: GET /x, upstream: main${route} }]
`,
    })
    usedFolder(join(folder, 'data'))
    const { out } = await tollgate(['check', '--json', '-c', join(folder, 'routes.yaml')])
    const { problems } = JSON.parse(out) as { problems: readonly { readonly code: string }[] }
    return problems.map(({ code }) => code)
  }
  t.same(await problemsOf(`cors: { origins: ['${APP}'] }`), [])
  t.same(await problemsOf(`cors: { origins: ['${APP}/path'] }`), ['BAD_VALUE'])
  t.same(await problemsOf(`cors: { origins: ['*'], credentials: true }`), ['CORS_CREDENTIALS'])
  t.same(await problemsOf(`cors: { origins: ['*'] }`, ', cors: { credentials: true }'), [
    'CORS_CREDENTIALS',
  ])
})
