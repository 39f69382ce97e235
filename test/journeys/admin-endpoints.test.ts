/** Admin endpoints of plugins: a file added to a running gateway serves them on one worker, with
 *  the gateway's state. */
import { once } from 'node:events'
import t from 'tap'
import { ENDPOINTS } from '../../engine/config/admin-endpoints.ts'
import type { GatewayStatus, GatewayView } from '../../engine/plugin.ts'
import type { SocketRequest } from '../../engine/processes/admin-socket.ts'
import { eventually, folderWith, routes, startPrimary } from '../helpers/gateway/primary.ts'

const files = folderWith()
const primary = await startPrimary(t, {
  files: {
    ...files,
    'routes.yaml': routes('one').replace(
      'pipeline:',
      "upstreams: { up: { url: ['http://127.0.0.1:9/', 'http://127.0.0.2:9/v1'] } }\npipeline:",
    ),
  },
})
const ask = async (path: string, init?: SocketRequest) => {
  const response = await primary.askAdmin(path, init)
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}
const OVERVIEW = `
export default {
  schema: {},
  setup: () => ({}),
  admin: {
    'GET /-/overview': async ({ query }, { gateway, config, section }) => ({
      gateway,
      upstreams: (await gateway.status()).upstreams,
      config,
      wanted: query.get('wanted'),
      pid: process.pid,
      level: section('settings').log.level,
    }),
    'POST /-/echo': ({ body }) => ({ body: body ?? 'none' }),
    'GET /-/refuse': () => {
      throw Object.assign(new Error('not today'), { code: 'CLOSED', status: 409, expose: true })
    },
    'GET /-/throw': () => {
      throw new Error('a secret of the plugin')
    },
    'GET /-/big': () => ({ number: 1n }),
    'GET /-/exit': () => process.kill(process.pid, 'SIGKILL'),
  },
}
`

t.test('admin endpoints: a plugin file with `admin` serves without a restart', async t => {
  t.match(await ask('/-/overview'), { status: 404, json: { error: /GET \/-\/health/ } })
  primary.write('plugins/overview.ts', OVERVIEW)
  await primary.until(/reload #2: plugins\/overview\.ts added/)
  const { status, json } = await ask('/-/overview?wanted=all%20of%20it')
  t.equal(status, 200)
  const { gateway, upstreams, ...rest } = json as {
    readonly gateway: GatewayView
    readonly upstreams: GatewayStatus['upstreams']
  }
  const { workers } = await primary.config()
  t.match(rest, {
    wanted: 'all of it',
    pid: workers[0]?.pid,
    level: 'info',
    config: { version: 2, hash: gateway.hash },
  })
  t.match(gateway, {
    url: primary.url,
    version: 2,
    workers: [{ number: 1, state: 'serving', version: 2 }],
    failure: null,
  })
  t.same(gateway.routes[0], {
    name: 'stamp',
    method: 'GET',
    path: '/stamp',
    stages: ['stamp'],
    options: { stamp: { text: 'one' } },
    upstreams: [],
    about: {},
    place: { file: 'routes.yaml', line: 10 },
  })
  const address = { busy: 0, conversations: { own: 0, moved: 0 }, warming: [] }
  const state = { state: 'ready', since: null, workers: { ready: 1 } }
  t.same(upstreams, {
    up: [
      { address: 'http://127.0.0.1:9', ...address, ...state },
      { address: 'http://127.0.0.2:9', ...address, ...state },
    ],
  })
})

t.test('admin endpoints: the index lists those of the engine and of plugins', async t => {
  const { endpoints } = (await ask('/-/')).json as { readonly endpoints: readonly string[] }
  t.same(endpoints.slice(0, ENDPOINTS.length), ENDPOINTS)
  t.same(endpoints.slice(ENDPOINTS.length), [
    'GET /-/big',
    'GET /-/exit',
    'GET /-/overview',
    'GET /-/refuse',
    'GET /-/throw',
    'POST /-/echo',
  ])
})

t.test(
  'admin endpoints: 404 for an unknown path and 405 for a wrong method, both with the valid ones',
  async t => {
    t.match(await ask('/-/nothing'), { status: 404, json: { error: /GET \/-\/overview/ } })
    t.match(await ask('/-/echo'), { status: 405, json: { error: /POST \/-\/echo/ } })
  },
)

t.test('admin endpoints: a body is JSON of at most 1 MiB', async t => {
  const post = (body?: string) => ask('/-/echo', { method: 'POST', ...(body && { body }) })
  t.match(await post('{"a":[1]}'), { status: 200, json: { body: { a: [1] } } })
  t.match(await post(), { status: 200, json: { body: 'none' } })
  t.match(await post('{'), { status: 400, json: { error: 'the body is not valid JSON' } })
  t.match(await post(`"${'x'.repeat(1024 * 1024)}"`), { status: 413 })
  const page = { method: 'POST', headers: { origin: 'http://evil.example' } }
  t.equal((await ask('/-/echo', page)).status, 403, 'not from a web page')
})

t.test(
  'admin endpoints: a fault has its own status; other errors are logged and become 500',
  async t => {
    t.match(await ask('/-/refuse'), {
      status: 409,
      json: { error: { code: 'CLOSED', message: 'not today' } },
    })
    for (const name of ['throw', 'big']) {
      const { status, json } = await ask(`/-/${name}`)
      t.match({ status, json }, { status: 500, json: { error: { code: 'ENDPOINT_THREW' } } })
      t.notMatch(JSON.stringify(json), /secret/)
      const line = await eventually(() =>
        primary.log().find(each => each.endpoint === `GET /-/${name}`),
      )
      t.match(line, { plugin: 'overview', level: 'error', process: 'worker 1' })
    }
  },
)

t.test(
  'admin endpoints: 503 if the worker ends during the call, and the next worker answers',
  async t => {
    const [worker] = (await primary.config()).workers
    t.match(await ask('/-/exit'), { status: 503, json: { error: { code: 'WORKER_ENDED' } } })
    await primary.state(({ workers }) =>
      workers.some(({ version, pid }) => version === 2 && pid !== worker?.pid),
    )
    t.equal((await ask('/-/overview')).status, 200)
  },
)

t.test('admin endpoints: 404 after the plugin is removed', async t => {
  primary.write('plugins/overview.ts', 'export const nothing = 1\n')
  await primary.until(/reload #3: plugins\/overview\.ts removed/)
  t.equal((await ask('/-/overview')).status, 404)
  primary.child.kill('SIGTERM')
  await once(primary.child, 'exit')
})
