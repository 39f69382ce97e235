/** Clients of new-api's video endpoints over the routes of docs/tasks.md, and upstreams of three
 *  shapes as a process of their own: bodies, states, charges, refunds, repeats and refusals. */
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { openDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { pageOf } from '../../docs/blocks.ts'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { eventually } from '../../helpers/eventually.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'
import { AUTHORITY, startReceiver } from '../../helpers/money/receiver.ts'
import { sql } from '../../helpers/store/store.ts'

type Fields = Readonly<Record<string, unknown>>
interface Shape {
  readonly rule?: { readonly submit: object; readonly poll: object }
  readonly submitPath: string
  /** An answer to a create and to a query. */
  answer(state: 'running' | 'done' | 'failed'): Fields
}
const CLIP = 'https://files.example/clip.mp4'
const [, block = ''] =
  /```yaml\n# Paths of new-api\n([\s\S]*?)```/.exec(pageOf('docs/tasks.md')) ?? []
const documented = parse(block)
const [create, query, ...klingRoutes] = documented.routes
const VIDU: Shape = {
  submitPath: '/ent/v2/text2video',
  answer: state => ({
    task_id: 'up-1',
    state: { running: 'processing', done: 'success', failed: 'failed' }[state],
    err_code: state === 'failed' ? 'no people' : '',
    creations: state === 'done' ? [{ url: CLIP }] : [],
  }),
}
const SHAPES: Readonly<Record<string, Shape>> = {
  vidu: VIDU,
  openai: {
    rule: {
      submit: {
        id: '/id',
        path: '/v1/videos',
        body: { model: '/model', prompt: '/prompt', seconds: '/seconds' },
      },
      poll: {
        path: 'GET /v1/videos/{id}',
        state: '/status',
        states: { in_progress: 'running', completed: 'succeeded', failed: 'failed' },
        error: { code: '/error/code', message: '/error/message' },
        results: '/url',
      },
    },
    submitPath: '/v1/videos',
    answer: state => ({
      id: 'up-1',
      status: { running: 'in_progress', done: 'completed', failed: 'failed' }[state],
      error: state === 'failed' ? { code: 'moderated', message: 'no people' } : null,
      url: CLIP,
    }),
  },
  gateway: {
    rule: {
      submit: {
        id: '/task_id',
        path: '/v1/video/generations',
        body: { model: '/model', prompt: '/prompt', duration: '/duration' },
      },
      poll: {
        path: 'GET /v1/video/generations/{id}',
        state: '/data/status',
        states: { IN_PROGRESS: 'running', SUCCESS: 'succeeded', FAILURE: 'failed' },
        progress: '/data/progress',
        error: { code: '/data/fail_reason' },
        results: '/data/result_url',
      },
    },
    submitPath: '/v1/video/generations',
    answer: state => ({
      task_id: 'up-1',
      data: {
        status: { running: 'IN_PROGRESS', done: 'SUCCESS', failed: 'FAILURE' }[state],
        progress: '50%',
        fail_reason: 'no people',
        result_url: CLIP,
      },
    }),
  },
}

const upstream = await startUpstream()
const root = fileURLToPath(new URL('../../..', import.meta.url))
const withSchema = (validate: { readonly schema: string }) => ({
  ...validate,
  schema: join(root, validate.schema),
})
const routeOf = (name: string, { rule }: Shape) => ({
  ...create,
  path: `POST /${name}/v1/video/generations`,
  name,
  validate: withSchema(create.validate),
  task: {
    ...create.task,
    upstreams: [name],
    ...rule,
    poll: { ...(rule?.poll ?? create.task.poll), every: '20ms..40ms' },
  },
})
const names = Object.keys(SHAPES)
const { clip: klingClip } = documented.models
const { accepts, defaults, ...clip } = klingClip
const own = 'video-generations'
const gateway = await startGateway({
  env: { WORKERS: '1', EGRESS_ALLOW: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: AUTHORITY },
  routes: stringify({
    pipeline: ['errors', 'auth', 'validate', 'model', 'idempotency', 'meter', 'task', 'account'],
    upstreams: Object.fromEntries(
      names.map(name => [name, { url: `${upstream.url}/s/${name}`, key: 'k' }]),
    ),
    models: {
      'kling-v1': { ...klingClip, to: 'vidu/provider-clip' },
      ...Object.fromEntries(
        names.map(name => [
          `clip-${name}`,
          {
            ...clip,
            to: `${name}/provider-clip`,
            accepts: { '*': false, [name]: accepts[own] },
            defaults: { [name]: defaults[own] },
          },
        ]),
      ),
    },
    routes: [
      ...Object.entries(SHAPES).map(([name, shape]) => routeOf(name, shape)),
      { ...create, validate: withSchema(create.validate), task: routeOf('vidu', VIDU).task },
      query,
      ...klingRoutes.map((route: { validate?: { schema: string } }) =>
        route.validate === undefined
          ? route
          : {
              ...route,
              validate: withSchema(route.validate),
              task: routeOf('vidu', VIDU).task,
            },
      ),
      { path: 'GET /v1/models', model: { list: 'openai' }, errors: 'openai' },
    ],
  }),
})
const key = await gateway.key()
await creditAdmin(gateway.data)
const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
t.teardown(async () => {
  await database.close()
  await Promise.all([gateway.stop(), upstream.stop()])
})
const call = async (
  method: string,
  path: string,
  { body, secret = key, headers }: { body?: unknown; secret?: string; headers?: object } = {},
) => {
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Fields }
}
const script = (name: string, state: Parameters<Shape['answer']>[0]) =>
  upstream.script(name, [{ do: 'body' }, plain(SHAPES[name]?.answer(state))])
const order = async (name: string, more: object = {}, headers: object = {}) => {
  const body = { model: `clip-${name}`, prompt: 'a cat', duration: 5, ...more }
  return call('POST', `/${name}/v1/video/generations`, { body, headers })
}
const show = (id: unknown) => call('GET', `/v1/video/generations/${id}`)
const reach = (id: unknown, status: string) =>
  eventually(async () => {
    const { json } = await show(id)
    return json.status === status ? json : undefined
  })
const chargesOf = async (id: unknown) => {
  const text =
    'SELECT c.state, c.amount FROM charges c JOIN tasks t ON t.request = c.request WHERE t.id = ?'
  return (await database.read(sql(text, text), [String(id)]))[0] as Fields
}
const submits = async (name: string) => {
  const bodies = await upstream.events('body', name)
  return bodies.flatMap(({ body }) => {
    const text = Buffer.from(body.bytes).toString()
    return text === '' ? [] : [JSON.parse(text) as Fields]
  })
}

for (const [name, { submitPath }] of Object.entries(SHAPES))
  t.test(`new-api videos at ${name}: created, queried, charged once, and refunded`, async t => {
    await upstream.forget()
    await script(name, 'running')
    const { status, json } = await order(name)
    const { id, created_at: at } = json
    t.equal(status, 200)
    t.match(String(id), /^task_[0-9]{18}$/)
    t.same(json, {
      id,
      task_id: id,
      object: 'video',
      model: `clip-${name}`,
      status: 'queued',
      progress: 0,
      created_at: at,
    })
    t.match(await reach(id, 'processing'), {
      code: 'success',
      url: null,
      data: { task_id: id, status: 'IN_PROGRESS', finish_time: 0, action: 'textGenerate' },
    })
    t.match(await chargesOf(id), { state: 'open' }, 'held')
    await script(name, 'done')
    const { data, ...flat } = await reach(id, 'succeeded')
    t.match(flat, { task_id: id, url: CLIP, format: 'mp4', metadata: { duration: 5 }, error: null })
    t.match(data, {
      task_id: id,
      status: 'SUCCESS',
      fail_reason: '',
      result_url: CLIP,
      progress: '100%',
      submit_time: at,
      properties: { input: 'a cat', origin_model_name: `clip-${name}` },
    })
    t.match(await chargesOf(id), { state: 'settled', amount: 125_000_000 })
    const [request] = await upstream.events('request', name)
    t.equal(request?.head.target, `/s/${name}${submitPath}`)
    t.match((await submits(name))[0], { model: 'provider-clip', prompt: 'a cat' })

    await script(name, 'failed')
    const failed = (await order(name)).json.id
    const failure = await reach(failed, 'failed')
    t.match(failure, { error: { code: 500, message: 'no people' }, url: null })
    t.match(failure.data, { status: 'FAILURE', fail_reason: 'no people', progress: '100%' })
    t.equal('result_url' in (failure.data as Fields), false)
    t.match(await chargesOf(failed), { state: 'released' }, 'a failure costs nothing')
    t.same(await audit(database), [])
  })

t.test(
  'new-api videos: an image reaches the upstream from each member that may name it',
  async t => {
    await script('vidu', 'done')
    const address = 'https://files.example/first.png'
    for (const more of [{ image: address }, { images: [address] }, { input_reference: address }]) {
      await upstream.forget()
      const { json } = await order('vidu', more)
      t.match(await reach(json.id, 'succeeded'), { data: { action: 'generate' } })
      const [request] = await upstream.events('request', 'vidu')
      t.equal(request?.head.target, '/s/vidu/ent/v2/img2video')
      t.match((await submits('vidu'))[0], { images: [address], duration: 5 })
    }
  },
)

t.test('new-api videos: seconds alone are the duration, and metadata is not sent', async t => {
  await script('vidu', 'done')
  await upstream.forget()
  const { json } = await order('vidu', {
    duration: undefined,
    seconds: '8',
    metadata: { duration: 99 },
  })
  await reach(json.id, 'succeeded')
  t.same((await submits('vidu'))[0], {
    model: 'provider-clip',
    prompt: 'a cat',
    duration: 8,
    resolution: '720p',
  })
  t.match(await chargesOf(json.id), { amount: 200_000_000 })
})

t.test('new-api videos: width and height are the size, which is priced and made', async t => {
  await script('vidu', 'done')
  await upstream.forget()
  for (const [more, amount, resolution] of [
    [{ width: 1920, height: 1080 }, 250_000_000, '1080p'],
    [{ width: 1280, height: 720 }, 125_000_000, '720p'],
    [{ width: 1920 }, 125_000_000, '720p'],
    [{ size: '1080x1920', width: 1280, height: 720 }, 250_000_000, '1080p'],
  ] as const) {
    await upstream.forget()
    const { json } = await order('vidu', more)
    await reach(json.id, 'succeeded')
    t.match((await submits('vidu'))[0], { resolution }, JSON.stringify(more))
    t.match(await chargesOf(json.id), { amount }, JSON.stringify(more))
  }
  const refused = { status: 400, json: { code: 'invalid_request' } }
  t.match(await order('vidu', { width: 640, height: 64 }), refused, 'no such size')
  t.match(await order('vidu', { duration: undefined, seconds: 7 }), refused, 'no such duration')
})

t.test("new-api videos: Kling's callback_url gets each state, signed", async t => {
  await upstream.forget()
  const receiver = await startReceiver(t)
  const body = (more: object) => ({
    body: { model_name: 'kling-v1', prompt: 'a cat', duration: '5', ...more },
  })
  await script('vidu', 'running')
  const callback_url = `${receiver.origin}/kling?order=7`
  const create = await call('POST', '/kling/v1/videos/text2video', body({ callback_url }))
  const id = create.json.task_id
  await receiver.until(1)
  await script('vidu', 'done')
  await receiver.until(2)
  const [first, second] = receiver.received
  t.match(JSON.parse(first?.body ?? ''), {
    task_id: id,
    task_status: 'processing',
    task_status_msg: '',
    task_result: { videos: [] },
  })
  const done = JSON.parse(second?.body ?? '')
  t.match(done, { task_id: id, task_status: 'succeed' })
  t.match(done.task_result.videos, [{ url: CLIP, duration: '5' }])
  t.match([done.created_at, done.updated_at], [Number, Number])
  const { date, 'x-request-nonce': nonce, ...headers } = first?.headers ?? {}
  const text = `POST\n/kling\norder=7\nkling\n${date}\nDate:${date}\nx-request-nonce:${nonce}\n`
  const signature = createHmac('sha256', key).update(text).digest('base64')
  t.equal(headers['x-hmac-signature'], signature)
  t.notOk('callback_url' in ((await submits('vidu'))[0] ?? {}), 'the upstream does not get it')
  await upstream.forget()
  for (const url of ['ftp://x.example/', 'http://10.0.0.1/', 'http://169.254.169.254/', 'x'])
    t.match(
      await call('POST', '/kling/v1/videos/text2video', body({ callback_url: url })),
      { status: 400, json: { code: /./, data: null } },
      url,
    )
  t.same(await submits('vidu'), [], 'nothing is sent')
})

t.test('new-api videos: a repeated create with an Idempotency-Key makes one task', async t => {
  await script('vidu', 'done')
  await upstream.forget()
  const headers = { 'idempotency-key': 'once' }
  const first = await order('vidu', {}, headers)
  t.same(await order('vidu', {}, headers), first)
  await reach(first.json.id, 'succeeded')
  t.equal((await submits('vidu')).length, 1)
  const other = await order('vidu', { prompt: 'a dog' }, headers)
  t.match(other.json, { code: 'idempotency_key_reused', data: null })
  t.ok(other.status >= 400)
})

t.test('new-api videos: bad requests are refused in both bodies of errors', async t => {
  await upstream.forget()
  const REFUSED: readonly (readonly [object, number, string])[] = [
    [{ prompt: undefined }, 400, 'invalid_request'],
    [{ prompt: '  ' }, 400, 'invalid_request'],
    [{ duration: 0 }, 400, 'invalid_request'],
    [{ duration: '5s' }, 400, 'invalid_request'],
    [{ duration: 7 }, 400, 'invalid_request'],
    [{ n: 2 }, 400, 'invalid_request'],
    [{ size: 'large' }, 400, 'invalid_request'],
    [{ images: [5] }, 400, 'invalid_request'],
    [{ metadata: 'x' }, 400, 'invalid_request'],
    [{ model: undefined }, 400, 'invalid_request'],
    [{ model: 'unknown' }, 404, 'model_not_found'],
    [{ model: 'clip-openai' }, 404, 'model_not_found'],
  ]
  for (const [more, status, code] of REFUSED) {
    const refusal = await order('vidu', more)
    const { message } = refusal.json
    t.equal(refusal.status, status, JSON.stringify(more))
    t.match(refusal.json, { code, data: null, error: { code } }, JSON.stringify(more))
    t.ok(String(message).length > 5)
  }
  const wrong = await call('GET', '/v1/video/generations/task_1', { secret: 'sk-wrong' })
  t.match(wrong, { status: 401, json: { code: 'invalid_api_key', error: {} } })
  t.same(await submits('vidu'), [], 'the upstream gets none')
})

t.test('new-api videos: unknown tasks and those of other customers are 404', async t => {
  await script('vidu', 'done')
  const { json } = await order('vidu')
  const env = { TOLLGATE_DATA: gateway.data }
  await tollgate(['accounts', 'create', 'bob'], env)
  const { out } = await tollgate(['keys', 'create', 'bob'], env)
  const secret = /sk-\w+/.exec(out)?.[0] ?? ''
  const refusal = { status: 404, json: { code: 'task_not_exist', message: 'task_not_exist' } }
  t.match(await call('GET', `/v1/video/generations/${json.id}`, { secret }), refusal)
  t.match(await show('task_123456789012345678'), refusal)
  t.match(await show('x'), refusal)
  const poor = await call('POST', '/vidu/v1/video/generations', {
    body: { model: 'clip-vidu', prompt: 'a cat' },
    secret,
  })
  t.match(poor, { status: 403, json: { code: 'insufficient_user_quota' } })
})

t.test('new-api videos: the list of models names the endpoint', async t => {
  const { json } = await call('GET', '/v1/models')
  const listed = (json.data as readonly Fields[]).find(({ id }) => id === 'clip-vidu')
  t.same(listed?.supported_endpoint_types, ['video-generation'])
})

t.test("new-api videos: Kling's paths take its bodies and show its answers", async t => {
  await upstream.forget()
  await script('vidu', 'running')
  const image = 'https://files.example/first.png'
  const text = await call('POST', '/kling/v1/videos/text2video', {
    body: { model_name: 'kling-v1', prompt: 'a cat', duration: '5', cfg_scale: 0.5 },
  })
  const id = text.json.task_id
  t.match(text, { status: 200, json: { id, object: 'video', model: 'kling-v1', status: 'queued' } })
  t.match((await reach(id, 'processing')).data, { data: { data: { task_status: 'processing' } } })
  await script('vidu', 'done')
  await reach(id, 'succeeded')
  const at = (path: string) => call('GET', `/kling/v1/videos/${path}/${id}`)
  const { json } = await at('text2video')
  t.match(json, {
    code: 'success',
    data: {
      task_id: id,
      status: 'SUCCESS',
      result_url: CLIP,
      data: {
        code: 0,
        data: {
          task_id: id,
          task_status: 'succeed',
          task_result: { videos: [{ url: CLIP, duration: '5' }] },
        },
      },
    },
  })
  t.same((await at('image2video')).json, json)
  t.match(await chargesOf(id), { state: 'settled', amount: 125_000_000 })
  t.same((await submits('vidu'))[0], {
    model: 'provider-clip',
    prompt: 'a cat',
    duration: 5,
    resolution: '720p',
  })
  await upstream.forget()
  const body = { model: 'kling-v1', image, prompt: 'a cat', duration: 8 }
  const second = await call('POST', '/kling/v1/videos/image2video', { body })
  await reach(second.json.id, 'succeeded')
  t.same((await submits('vidu'))[0], {
    model: 'provider-clip',
    images: [image],
    prompt: 'a cat',
    duration: 8,
    resolution: '720p',
  })
  await script('vidu', 'failed')
  const third = (await call('POST', '/kling/v1/videos/image2video', { body })).json.id
  t.match((await reach(third, 'failed')).data, {
    data: { data: { task_status: 'failed', task_status_msg: 'no people' } },
  })
  t.match(await chargesOf(third), { state: 'released' })
  t.same(await audit(database), [])
})

t.test("new-api videos: bad requests on Kling's paths are refused", async t => {
  await upstream.forget()
  const REFUSED: readonly (readonly [string, object, number, string])[] = [
    ['text2video', { prompt: undefined }, 400, 'invalid_request'],
    ['text2video', { duration: '10' }, 400, 'invalid_request'],
    ['text2video', { aspect_ratio: 'wide' }, 400, 'invalid_request'],
    ['text2video', { model_name: undefined }, 400, 'missing_model'],
    ['text2video', { model_name: 'clip-vidu' }, 404, 'model_not_found'],
    ['image2video', { image: undefined }, 400, 'invalid_request'],
  ]
  for (const [path, more, status, code] of REFUSED) {
    const body = { model_name: 'kling-v1', prompt: 'a cat', duration: '5', ...more }
    const refusal = await call('POST', `/kling/v1/videos/${path}`, { body })
    t.match(refusal, { status, json: { code, data: null } }, JSON.stringify(more))
  }
  t.match(await call('GET', '/kling/v1/videos/text2video/task_1'), {
    status: 404,
    json: { code: 'task_not_exist' },
  })
  t.same(await submits('vidu'), [])
})
