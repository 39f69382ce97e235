/** Clients of new-api's /suno over the routes of docs/tasks.md and an upstream as a process of its
 *  own: submits, fetches, charges, refunds and refusals. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { openDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { pageOf } from '../../docs/blocks.ts'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { eventually } from '../../helpers/eventually.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'
import { sql } from '../../helpers/store/store.ts'

type Fields = Readonly<Record<string, unknown>>
interface RouteEntry {
  readonly validate?: { readonly schema: string }
  readonly task: { readonly poll?: object }
}
const [, block = ''] =
  /```yaml\n# Suno of new-api\n([\s\S]*?)```/.exec(pageOf('docs/tasks.md')) ?? []
const { models, routes } = parse(block)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const upstream = await startUpstream()
const gateway = await startGateway({
  env: { WORKERS: '1' },
  routes: stringify({
    pipeline: ['errors', 'auth', 'validate', 'model', 'idempotency', 'meter', 'task', 'account'],
    upstreams: { suno: { url: `${upstream.url}/s/suno`, key: 'k' } },
    models,
    routes: [
      ...routes.map((route: RouteEntry) => ({
        ...route,
        ...(route.validate && {
          validate: { ...route.validate, schema: join(root, route.validate.schema) },
        }),
        task: route.task.poll
          ? { ...route.task, poll: { ...route.task.poll, every: '20ms..40ms' } }
          : route.task,
      })),
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
const call = async (method: string, path: string, body?: unknown, secret = key, headers = {}) => {
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
const SONG = { id: 'song-1', audio_url: 'https://files.example/song.mp3', title: 'Cats' }
const poll = (status: string, data: unknown): readonly Step[] => [
  { do: 'body' },
  plain({ code: 'success', data: { status, progress: '50%', fail_reason: 'no people', data } }),
]
/** The upstream answers a submit with an id, and each later query with this task. */
const script = (status: string, data: unknown = [SONG]) =>
  upstream.script(
    'suno',
    [{ do: 'body' }, plain({ code: 'success', message: '', data: 'up-1' })],
    poll(status, data),
  )
const reach = (id: unknown, status: string) =>
  eventually(async () => {
    const fetched = (await call('GET', `/suno/fetch/${id}`)).json.data as Fields
    return fetched.status === status ? fetched : undefined
  })
const chargesOf = async (id: unknown) => {
  const text =
    'SELECT c.state, c.amount FROM charges c JOIN tasks t ON t.request = c.request WHERE t.id = ?'
  return (await database.read(sql(text, text), [String(id)]))[0] as Fields
}

t.test('new-api music: submitted, fetched, charged once, and refunded', async t => {
  await upstream.forget()
  await script('IN_PROGRESS')
  const body = { prompt: 'la la', mv: 'chirp-v4', title: 'Cats', make_instrumental: false }
  const headers = { 'idempotency-key': 'once' }
  const created = await call('POST', '/suno/submit/music', body, key, headers)
  const id = created.json.data
  t.match(String(id), /^task_[0-9]{18}$/)
  t.same(created, { status: 200, json: { code: 'success', message: '', data: id } })
  t.same(await call('POST', '/suno/submit/music', body, key, headers), created)
  t.match(await reach(id, 'IN_PROGRESS'), { action: 'MUSIC', progress: '50%', finish_time: 0 })
  t.match(await chargesOf(id), { state: 'open' }, 'held')
  const [submit] = await upstream.events('body', 'suno')
  t.same(JSON.parse(Buffer.from(submit?.body.bytes ?? '').toString()), body)
  await upstream.script('suno', poll('SUCCESS', [SONG]))
  await reach(id, 'SUCCESS')
  await script('SUCCESS')
  const other = (await call('POST', '/suno/submit/music', body)).json.data
  t.match(await reach(other, 'SUCCESS'), {
    task_id: other,
    data: [SONG],
    progress: '100%',
    fail_reason: '',
    properties: { input: 'la la', origin_model_name: 'suno_music' },
  })
  t.match(await chargesOf(other), { state: 'settled', amount: 100_000_000 })
  const listed = await call('POST', '/suno/fetch', { ids: [id, other, 'task_1'] })
  const rows = listed.json.data as readonly Fields[]
  t.same(rows.map(row => row.task_id).sort(), [id, other].sort())
  t.same((await call('POST', '/suno/fetch', { ids: [] })).json.data, [])
  await script('SUCCESS', { id: 'text-1', title: 'Cats', text: 'la la' })
  const lyrics = (await call('POST', '/suno/submit/lyrics', { prompt: 'cats' })).json.data
  t.match(await reach(lyrics, 'SUCCESS'), { action: 'LYRICS', data: { text: 'la la' } })
  t.match(await chargesOf(lyrics), { amount: 10_000_000 })
  await script('FAILURE')
  const failed = (await call('POST', '/suno/submit/music', body)).json.data
  t.match(await reach(failed, 'FAILURE'), { fail_reason: 'no people' })
  t.match(await chargesOf(failed), { state: 'released' }, 'a failure costs nothing')
  t.same(await audit(database), [])
})

t.test('new-api music: bad requests and tasks of other customers are refused', async t => {
  await script('SUCCESS')
  const id = (await call('POST', '/suno/submit/music', { prompt: 'la' })).json.data
  await reach(id, 'SUCCESS')
  await upstream.forget()
  for (const [path, body, code] of [
    ['submit/lyrics', {}, 'invalid_request'],
    ['submit/lyrics', { prompt: ' ' }, 'invalid_request'],
    ['submit/music', { prompt: 5 }, 'invalid_request'],
    ['submit/music', { continue_clip_id: 'song-1' }, 'invalid_request'],
    ['submit/music', { continue_clip_id: 'song-1', task_id: 'task_1' }, 'task_not_exist'],
    ['submit/dance', { prompt: 'la' }, 'not_found'],
    ['fetch', { ids: 'x' }, 'invalid_request'],
  ] as const) {
    const { status, json } = await call('POST', `/suno/${path}`, body)
    t.ok(status >= 400, path)
    if (path !== 'submit/dance') t.match(json, { code, data: null }, JSON.stringify(body))
  }
  const env = { TOLLGATE_DATA: gateway.data }
  await tollgate(['accounts', 'create', 'bob'], env)
  const { out } = await tollgate(['keys', 'create', 'bob'], env)
  const bob = /sk-\w+/.exec(out)?.[0] ?? ''
  const refusal = { status: 404, json: { code: 'task_not_exist', data: null } }
  t.match(await call('GET', `/suno/fetch/${id}`, undefined, bob), refusal)
  t.match(await call('GET', '/suno/fetch/task_1'), refusal)
  t.same((await call('POST', '/suno/fetch', { ids: [id] }, bob)).json.data, [])
  t.same(await upstream.events('body', 'suno'), [], 'the upstream gets none')
  const { json } = await call('GET', '/v1/models')
  const [listed] = json.data as readonly Fields[]
  t.same(listed?.supported_endpoint_types, ['suno'])
})
