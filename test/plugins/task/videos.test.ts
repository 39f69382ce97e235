/** OpenAI's video endpoints by the official SDK over a scripted upstream: states, pages, deletion,
 *  and the download of results. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'
import { creationsOf, KEY, POLL, startTasks } from './task-gateway.ts'

const CREATE = {
  dialect: 'openai-videos',
  submit: { id: '/task_id', path: '/ent/v2/text2video' },
  poll: POLL,
  cancel: { path: 'POST /ent/v2/tasks/{id}/cancel' },
  variants: { thumbnail: '/cover_url' },
}
const view = (name: string) => ({ dialect: 'openai-videos', view: name })
const routesOf = (options: object): readonly object[] => [
  {
    path: 'POST /v1/videos',
    form: { files: ['input_reference'], inline: 'image_url' },
    model: 'body',
    task: { ...CREATE, ...options },
  },
  { path: 'GET /v1/videos', task: view('list') },
  { path: 'GET /v1/videos/{id}', task: view('query') },
  { path: 'DELETE /v1/videos/{id}', task: view('delete') },
  { path: 'GET /v1/videos/{id}/content', task: view('content') },
  { path: 'POST /v1/videos/{id}/remix', task: view('remix') },
]
const sdk = (url: string, account = '1') =>
  new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: KEY,
    maxRetries: 0,
    defaultHeaders: { account },
  }).videos

const startVideos = async (t: Test, engine: Engine = 'sqlite', options: object = {}) => {
  const gateway = await startTasks(t, engine, {}, {}, routesOf(options))
  const videos = sdk(gateway.gatewayUrl)
  return {
    ...gateway,
    videos,
    create: async (): Promise<string> =>
      (await videos.create({ model: 'clip', prompt: 'a cat', seconds: '4' })).id,
    /** Retrieves until the status is this one. */
    reach: (id: string, status: OpenAI.Video['status']) =>
      eventually(async () => {
        const video = await videos.retrieve(id)
        return video.status === status ? video : undefined
      }),
  }
}
/** The upstream's task has this state in the end; a cancel is answered with this status. */
const always = (
  state: string,
  { creation, cancel = 200 }: { readonly creation?: Json; readonly cancel?: number } = {},
) =>
  (({ method, path }: { readonly method: string; readonly path: string }) => {
    if (path.endsWith('/cancel')) return { status: cancel, json: {} }
    const creations = creationsOf(state, creation)
    return { json: method === 'POST' ? { task_id: 'up' } : { state, creations } }
  }) as Awaited<ReturnType<typeof startTasks>>['here']['script']
const errorOf = (call: Promise<unknown>): Promise<object> =>
  call.then(
    () => ({ answered: true }),
    error => error as object,
  )

for (const engine of ENGINES)
  t.test(`videos on ${engine}: the pages of a list follow each other in both orders`, async t => {
    const { videos, create, here } = await startVideos(t, engine)
    here.script = always('success')
    const ids: string[] = []
    for (let index = 0; index < 5; index++) ids.push(await create())
    const pageOf = async (query: OpenAI.VideoListParams): Promise<unknown> =>
      (await videos.list(query).asResponse()).json()
    const first = { object: 'list', has_more: true, first_id: ids[4], last_id: ids[3] }
    t.match(await pageOf({ limit: 2 }), first)
    const walk = async (query: OpenAI.VideoListParams): Promise<readonly string[]> => {
      const walked: string[] = []
      for await (const { id } of videos.list(query)) walked.push(id)
      return walked
    }
    t.same(await walk({ limit: 2 }), ids.toReversed())
    t.same(await walk({ limit: 2, order: 'asc' }), ids)
    t.same(await walk({ limit: 5 }), ids.toReversed())
    const removed = ids[2] ?? ''
    await eventually(async () => (await videos.retrieve(removed)).status === 'completed')
    await videos.delete(removed)
    t.same(await walk({ after: removed }), [ids[1], ids[0]], 'a deleted video keeps its place')
    const last = { object: 'list', data: [], has_more: false, first_id: null, last_id: null }
    t.same(await pageOf({ after: ids[0] ?? '' }), last)
  })

for (const engine of ENGINES)
  t.test(`videos on ${engine}: a queued one is cancelled by its deletion and is free`, async t => {
    const { videos, create, reach, here, requests, ...gateway } = await startVideos(t, engine)
    here.script = always('queueing')
    const id = await create()
    await eventually(async () => requests.length > 1)
    await reach(id, 'queued')
    t.same(await videos.delete(id), { id, object: 'video.deleted', deleted: true })
    t.equal(requests.filter(({ path }) => path.endsWith('/up/cancel')).length, 1)
    t.match(await errorOf(videos.retrieve(id)), { status: 404 })
    t.match(await errorOf(videos.delete(id)), { status: 404 })
    t.equal(await gateway.spent(), 0n)
    const [charge] = await gateway.rows('SELECT state FROM charges')
    t.match(charge, { state: 'released' })
    t.same(await gateway.findings(), [])
  })

t.test('videos: one that the upstream works on is not deleted', async t => {
  const { videos, create, reach, here, requests, rows } = await startVideos(t)
  here.script = always('processing')
  const running = await create()
  await reach(running, 'in_progress')
  const message =
    '400 This video is in_progress. A video can be deleted once it is completed or failed, or while it is queued.'
  const refusal = await errorOf(videos.delete(running))
  t.match(refusal, { status: 400, code: 'video_not_finished', param: 'video_id' })
  t.ok(String((refusal as Error).message).startsWith(message))
  t.equal(requests.filter(({ path }) => path.endsWith('/cancel')).length, 0)
  here.script = always('queueing', { cancel: 400 })
  const unstoppable = await create()
  await eventually(async () => {
    const [row] = await rows(`SELECT state FROM tasks WHERE id = '${unstoppable}'`)
    return row?.state === 'submitted' ? true : undefined
  })
  t.match(await errorOf(videos.delete(unstoppable)), { status: 400, code: 'video_not_finished' })
  t.match(await videos.retrieve(unstoppable), { status: 'queued' })
})

t.test('videos: one of another account is unknown to every endpoint', async t => {
  const { create, reach, here, gatewayUrl } = await startVideos(t)
  here.script = always('success')
  const id = await create()
  await reach(id, 'completed')
  const other = sdk(gatewayUrl, '2')
  for (const call of [
    other.retrieve(id),
    other.downloadContent(id),
    other.delete(id),
    other.remix(id, { prompt: 'x' }),
  ])
    t.match(await errorOf(call), { status: 404, param: 'video_id' })
  t.same((await other.list()).data, [])
})

t.test('videos: a deadline has a code', async t => {
  const poll = { ...POLL, deadline: '200ms' }
  const { create, reach, here } = await startVideos(t, 'sqlite', { poll })
  here.script = always('processing')
  const { error } = await reach(await create(), 'failed')
  t.same(error, { code: 'timeout', message: 'The video was not finished in time.' })
})

t.test('videos: one of which the upstream’s answer was lost is in progress', async t => {
  const { create, reach, here } = await startVideos(t)
  here.script = () => ({ cut: true })
  t.match(await reach(await create(), 'in_progress'), { error: null, completed_at: null })
})

t.test('videos: one too many for an account is refused in OpenAI’s shape', async t => {
  const { create, here } = await startVideos(t, 'sqlite', { open: 1 })
  here.script = always('processing')
  await create()
  t.match(await errorOf(create()), { status: 429, type: 'requests', code: 'rate_limit_exceeded' })
})

const CLIP = Buffer.from('0123456789')
/** Serves a clip with ranges, and paths that answer with their status. */
const serveFiles = (request: IncomingMessage, response: ServerResponse): void => {
  const status = Number(request.url?.slice(1))
  if (status > 0) return void response.writeHead(status, { location: '/clip' }).end('no clip')
  const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? []
  const type = request.url === '/page' ? 'text/html' : 'video/mp4; codecs=avc1'
  const headers = { 'content-type': type, 'accept-ranges': 'bytes', etag: '"e"', 'x-other': 'x' }
  if (from === undefined) return void response.writeHead(200, headers).end(CLIP)
  const range = { 'content-range': `bytes ${from}-9/10` }
  response.writeHead(206, { ...headers, ...range }).end(CLIP.subarray(Number(from)))
}
t.test('videos: content is streamed with its headers, in ranges and by HEAD', async t => {
  const files = await startHttpUpstream(t, serveFiles)
  const { videos, create, reach, here, gatewayUrl } = await startVideos(t)
  here.script = always('success', { creation: { url: `${files}/clip` } })
  const id = await create()
  await reach(id, 'completed')
  const whole = await videos.downloadContent(id)
  t.equal(await whole.text(), CLIP.toString())
  t.equal(whole.headers.get('content-type'), 'video/mp4')
  t.equal(whole.headers.get('accept-ranges'), 'bytes')
  t.equal(whole.headers.get('etag'), '"e"')
  t.equal(whole.headers.get('x-other'), null)
  const part = await videos.downloadContent(id, {}, { headers: { range: 'bytes=4-' } })
  t.same([part.status, part.headers.get('content-range')], [206, 'bytes 4-9/10'])
  t.equal(await part.text(), '456789')
  const head = await fetch(`${gatewayUrl}/v1/videos/${id}/content`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${KEY}` },
  })
  t.same([head.status, head.headers.get('content-type')], [200, 'video/mp4'])
  for (const variant of ['thumbnail', 'spritesheet'] as const)
    t.match(await errorOf(videos.downloadContent(id, { variant })), {
      status: 404,
      code: 'variant_not_available',
      param: 'variant',
    })
  t.match(await errorOf(videos.downloadContent(id, { variant: 'poster' as never })), {
    status: 400,
    code: 'invalid_value',
    param: 'variant',
  })
})
t.test('videos: content that cannot be fetched is a clear error', async t => {
  const files = await startHttpUpstream(t, serveFiles)
  const { videos, create, reach, here, lines } = await startVideos(t)
  const downloadFrom = async (address: string) => {
    here.script = always('success', { creation: { url: address } })
    const id = await create()
    await reach(id, 'completed')
    return errorOf(videos.downloadContent(id))
  }
  for (const status of [403, 404, 410])
    t.match(await downloadFrom(`${files}/${status}`), { status: 404, param: null }, `${status}`)
  t.match(await downloadFrom(`${files}/416`), { status: 416 })
  for (const address of [`${files}/302`, `${files}/500`, 'http://10.0.0.1/clip', 'no address'])
    t.match(await downloadFrom(address), { status: 502 }, address)
  t.match(lines.join('\n'), '10.0.0.1 is not a public address')
  here.script = always('success', { creation: { url: `${files}/page` } })
  const id = await create()
  await reach(id, 'completed')
  const page = await videos.downloadContent(id)
  t.equal(page.headers.get('content-type'), 'application/octet-stream', 'no browser runs it')
})

t.test('videos: copies of results are sent from the file store, and deleted with them', async t => {
  const files = await startHttpUpstream(t, serveFiles)
  const gateway = await startVideos(t, 'sqlite', { results: 'copy' })
  const { videos, create, reach, here, rows } = gateway
  here.script = always('success', { creation: { url: `${files}/clip`, cover_url: `${files}/a` } })
  const id = await create()
  await reach(id, 'completed')
  const part = await videos.downloadContent(id, {}, { headers: { range: 'bytes=4-' } })
  t.same([part.status, part.headers.get('content-range')], [206, 'bytes 4-9/10'])
  t.match(part.headers.get('content-disposition'), `filename="${id}-1.bin"`)
  t.equal(await part.text(), '456789')
  const cover = await videos.downloadContent(id, { variant: 'thumbnail' })
  t.match(cover.headers.get('content-disposition'), `filename="${id}-cover-1.bin"`)
  t.match(await rows('SELECT count(*) AS n FROM stored_files'), [{ n: 2 }])
  await videos.delete(id)
  t.match(await rows('SELECT count(*) AS n FROM stored_files'), [{ n: 0 }])
  t.match(await errorOf(videos.downloadContent(id)), { status: 404 })
})
