/** Videos by the official SDK over the shipped routes.yaml and a real upstream process: what is
 *  sent, shown, charged and downloaded, and the exact error bodies. */
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import type { Step } from '../../fixtures/upstream/script.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { answers, errorOf } from './audio.ts'
import { gateway, key, sentCalls, upstream } from './shipped-gateway.ts'

type Fields = Readonly<Record<string, unknown>>
const authorization = { authorization: `Bearer ${key}` }
const { files, videos } = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
const PNG = Buffer.from('\x89PNG\r\n\x1a\n and its pixels', 'latin1')
const CLIP = 'the bytes of a clip'

const bodyStep: Step = { do: 'body' }
const turn = (json: unknown) => [bodyStep, plain(json)]
const resultAt = (name: string): string => `${upstream.url}/s/${name}/file`
/** Each create is accepted, and each query finds it finished. */
const finished = () =>
  turn({
    task_id: '911088422699962368',
    state: 'success',
    creations: [{ id: '1', url: resultAt('clip'), cover_url: resultAt('cover') }],
  })
const end = (id: string): Promise<OpenAI.Video> =>
  eventually(async () => {
    const video = await videos.retrieve(id)
    return video.status === 'completed' || video.status === 'failed' ? video : undefined
  })
/** The submit whose body contains this text. */
const submitOf = async (
  text: string,
): Promise<{ readonly path: unknown; readonly body: Fields }> => {
  const bodies = await upstream.events('body', 'vd')
  const match = bodies.find(({ body }) => Buffer.from(body.bytes).includes(text))
  const requests = await upstream.events('request', 'vd')
  const request = requests.findLast(
    ({ connection, at }) => connection === match?.connection && at <= match.at,
  )
  const body = JSON.parse(Buffer.from(match?.body.bytes ?? '{}').toString()) as Fields
  return { path: request?.head.target, body }
}
const receiptOf = async (id: string): Promise<Fields> => {
  const response = await fetch(`${gateway.url}/api/usage/${id}`, { headers: authorization })
  return ((await response.json()) as { data: Fields }).data
}

t.test('videos: a clip is created, retrieved, charged, downloaded, listed and deleted', async t => {
  await upstream.script('vd', finished())
  await upstream.script('clip', answers('video/mp4', CLIP))
  await upstream.script('cover', answers('image/png', 'a cover'))
  const before = Math.floor(Date.now() / 1_000)
  const created = await videos.create({
    model: 'vdq3',
    prompt: 'a cat',
    seconds: '8',
    size: '1080x1920' as OpenAI.VideoSize,
  })
  const { id, created_at: createdAt } = created
  t.match(id, /^video_[0-9]{18}$/)
  t.ok(createdAt >= before && createdAt <= before + 60)
  const video = {
    id,
    object: 'video',
    model: 'vdq3',
    status: 'queued',
    progress: 0,
    created_at: createdAt,
    completed_at: null,
    expires_at: null,
    prompt: 'a cat',
    seconds: '8',
    size: '1080x1920',
    remixed_from_video_id: null,
    error: null,
  }
  t.same(created, video)
  t.match(await errorOf(videos.downloadContent(id)), { status: 404, code: 'video_not_ready' })
  const { completed_at: completedAt, expires_at: expiresAt, ...completed } = await end(id)
  const { completed_at: _, expires_at: __, ...expected } = video
  t.same(completed, { ...expected, status: 'completed', progress: 100 })
  t.ok(Number(completedAt) >= createdAt)
  t.ok(Number(expiresAt) > Number(completedAt) + 29 * 86_400)
  t.same(await submitOf('a cat'), {
    path: '/s/vd/ent/v2/text2video',
    body: {
      model: 'viduq3',
      prompt: 'a cat',
      duration: 8,
      resolution: '1080p',
      aspect_ratio: '9:16',
      audio: true,
    },
  })
  t.match(await receiptOf(id), {
    cost: 8.64,
    usage: { seconds: 8 },
    lines: [{ meter: 'seconds', quantity: '8', by: { resolution: '1080p' }, amount: 8.64 }],
  })
  const download = await videos.downloadContent(id)
  t.equal(download.headers.get('content-type'), 'video/mp4')
  t.equal(await download.text(), CLIP)
  const cover = await videos.downloadContent(id, { variant: 'thumbnail' })
  t.equal(cover.headers.get('content-type'), 'image/png')
  t.equal(await cover.text(), 'a cover')
  const { data } = await videos.list({ limit: 1 })
  t.same(data[0]?.id, id)
  t.match(await errorOf(videos.remix(id, { prompt: 'a dog' })), {
    status: 400,
    code: 'unsupported_model',
  })
  t.same(await videos.delete(id), { id, object: 'video.deleted', deleted: true })
  t.match(await errorOf(videos.retrieve(id)), { status: 404, param: 'video_id' })
  t.match(await receiptOf(id), { cost: 8.64 }, 'the receipt stays')
})

t.test('videos: tollgate quote shows the price of the resulting resolution', async t => {
  const request = { model: 'vdq3', prompt: 'a cat', seconds: '8', size: '1080x1920' }
  const body = join(t.testdir({ 'body.json': JSON.stringify(request) }), 'body.json')
  const env = { TOLLGATE_DATA: gateway.data }
  const { out } = await withOutput(t, ['quote', 'POST', '/v1/videos', '--body', body], env)
  t.match(out, '8.64 CNY at most: 8 seconds (1080p)')
})

t.test(
  'videos: a file of a form becomes the first frame, and a repeated form one video',
  async t => {
    await upstream.script('vd', finished())
    const form = async () => ({
      model: 'vdq2',
      prompt: 'it wakes',
      // A file that is read from a disk has no type.
      input_reference: await toFile(PNG, 'cat.png'),
    })
    const headers = { 'idempotency-key': 'a-form' }
    const { id, ...video } = await videos.create(await form(), { headers })
    t.match(video, { seconds: '4', size: '720x1280', prompt: 'it wakes' })
    t.equal((await videos.create(await form(), { headers })).id, id)
    t.match(await errorOf(videos.create({ ...(await form()), prompt: 'it sleeps' }, { headers })), {
      status: 422,
      code: 'idempotency_key_reused',
    })
    t.match(await end(id), { status: 'completed' })
    t.same(await submitOf('it wakes'), {
      path: '/s/vd/ent/v2/img2video',
      body: {
        model: 'viduq2',
        images: [`data:image/png;base64,${PNG.toString('base64')}`],
        prompt: 'it wakes',
        duration: 4,
        resolution: '720p',
      },
    })
    // 10 credits, and 5 for each second, of 0.036.
    t.match(await receiptOf(id), { cost: 1.08 })
  },
)

t.test('videos: a failed one costs nothing and says why', async t => {
  await upstream.script(
    'vd',
    turn({ task_id: '911088422699962369', state: 'created' }),
    turn({ state: 'failed', err_code: 'TaskPromptPolicyViolation', creations: [] }),
  )
  const { id } = await videos.create({
    model: 'vd2.0',
    prompt: 'a fight',
    input_reference: { image_url: 'https://files.example/a.png' },
  })
  const failed = await end(id)
  t.match(failed, { status: 'failed', progress: 0, completed_at: null, expires_at: null })
  t.same(failed.error, {
    code: 'TaskPromptPolicyViolation',
    message: 'The video could not be generated.',
  })
  t.match(await submitOf('a fight'), { body: { images: ['https://files.example/a.png'] } })
  t.match(await errorOf(videos.downloadContent(id)), { status: 404, code: 'video_failed' })
  t.match(await receiptOf(id), { cost: 0 })
})

const VALID = { model: 'vdq3', prompt: 'a cat' }
const missing = (field: string) => `Missing required parameter: '${field}'.`
const choice = (field: string, value: string, values: string) =>
  `Invalid value for '${field}': '${value}'. Supported values are: ${values}.`
const HD = "'1280x720', '720x1280', '720x720'"
type Row = readonly [
  change: Fields,
  status: number,
  code: string | null,
  param: string,
  message: string,
]
const REFUSED: readonly Row[] = [
  [{ model: undefined }, 400, 'missing_required_parameter', 'model', missing('model')],
  [{ prompt: undefined }, 400, 'missing_required_parameter', 'prompt', missing('prompt')],
  [
    { prompt: '' },
    400,
    'invalid_value',
    'prompt',
    "Invalid 'prompt': expected at least 1 character, but got 0 instead.",
  ],
  [
    { prompt: 'x'.repeat(5_001) },
    400,
    'invalid_value',
    'prompt',
    "Invalid 'prompt': expected at most 5000 characters, but got 5001 instead.",
  ],
  [
    { seconds: 4 },
    400,
    'invalid_type',
    'seconds',
    "Invalid type for 'seconds': expected a string, but got a number instead.",
  ],
  [
    { model: 'vd1.5', seconds: '5' },
    400,
    'invalid_value',
    'seconds',
    choice('seconds', '5', "'4', '8'"),
  ],
  [
    { model: 'vd1.5', seconds: '8', size: '1920x1080' },
    400,
    'invalid_value',
    'size',
    choice('size', '1920x1080', HD),
  ],
  [
    { model: 'vdq1', size: '1280x720' },
    400,
    'invalid_value',
    'size',
    choice('size', '1280x720', "'1920x1080', '1080x1920', '1080x1080'"),
  ],
  [
    { model: 'vdq2-pro-fast' },
    400,
    'missing_required_parameter',
    'input_reference',
    missing('input_reference'),
  ],
  [
    { input_reference: { file_id: 'file-1' } },
    404,
    null,
    'input_reference.file_id',
    "'input_reference.file_id': no such file: file-1",
  ],
  [
    { input_reference: { file_id: 'cat.png' } },
    400,
    'invalid_value',
    'input_reference.file_id',
    "Invalid 'input_reference.file_id': expected the id of a file, which begins with 'file-'.",
  ],
  [
    { input_reference: {} },
    400,
    'missing_required_parameter',
    'input_reference.image_url',
    missing('input_reference.image_url'),
  ],
  [
    { input_reference: { image_url: 'file:///etc/passwd' } },
    400,
    'invalid_value',
    'input_reference.image_url',
    "Invalid 'input_reference.image_url': expected a public http or https URL, or a PNG, JPEG or WebP image.",
  ],
  [
    { model: 'vdq9' },
    404,
    'model_not_found',
    'model',
    "The model 'vdq9' does not exist or you do not have access to it. Did you mean 'vdq3'?",
  ],
  [
    { model: 'audio1.0' },
    404,
    'model_not_found',
    'model',
    "The model 'audio1.0' is not available on this endpoint.",
  ],
]
t.test('videos: each invalid request is refused with its body, and nothing is sent', async t => {
  for (const [change, status, code, param, message] of REFUSED) {
    const response = await postTo(
      `${gateway.url}/v1/videos`,
      { ...VALID, ...change },
      authorization,
    )
    const name = JSON.stringify(change).slice(0, 80)
    t.equal(response.status, status, name)
    const { error } = (await response.json()) as { error: Fields }
    const { message: text, ...rest } = error
    t.same(rest, { type: 'invalid_request_error', param, code }, name)
    t.equal(String(text).replace(/ \(request id: .*$/, ''), message, name)
  }
  const text = new File(['no image'], 'a.txt', { type: 'text/plain' })
  t.match(await errorOf(videos.create({ ...VALID, input_reference: text })), {
    status: 400,
    code: 'invalid_value',
    param: 'input_reference.image_url',
  })
  t.match(await errorOf(videos.create({ ...VALID, size: '720x1280', extra: text } as never)), {
    status: 400,
    param: 'extra',
  })
  t.same(await sentCalls(), [])
})

t.test('videos: an unknown id, another page and another path have their own bodies', async t => {
  for (const [path, status, code, param] of [
    ['videos/video_123456789012345678', 404, null, 'video_id'],
    ['videos/video_123456789012345678/content', 404, null, 'video_id'],
    ['videos/911088422699962368', 404, null, 'video_id'],
    ['videos?limit=0', 400, 'integer_below_min_value', 'limit'],
    ['videos?limit=101', 400, 'integer_above_max_value', 'limit'],
    ['videos?limit=x', 400, 'invalid_type', 'limit'],
    ['videos?order=up', 400, 'invalid_value', 'order'],
    ['videos?after=911088422699962368', 400, 'invalid_value', 'after'],
  ] as const) {
    const response = await fetch(`${gateway.url}/v1/${path}`, { headers: authorization })
    t.equal(response.status, status, path)
    t.match(await response.json(), { error: { type: 'invalid_request_error', code, param } }, path)
  }
  t.equal((await fetch(`${gateway.url}/v1/videos`)).status, 401)
  const { status } = await fetch(`${gateway.url}/v1/videos/edits`, {
    method: 'POST',
    headers: authorization,
  })
  t.ok(status === 404 || status === 405, `${status}`)
})

const isApart = async (t: Test): Promise<void> => {
  const { id } = await videos.create({ model: 'vdq3', prompt: 'apart' })
  const post = { method: 'POST', headers: { ...authorization, 'content-type': 'application/json' } }
  const created = await fetch(`${gateway.url}/ent/v2/text2video`, {
    ...post,
    body: JSON.stringify(VALID),
  })
  const { task_id: task } = (await created.json()) as Fields
  t.match(await errorOf(videos.retrieve(String(task))), { status: 404 })
  t.match(await errorOf(videos.delete(`video_${task}`)), { status: 404 })
  const query = async (path: string) =>
    fetch(`${gateway.url}/ent/v2/${path}`, { headers: authorization }).then(each => each.text())
  t.match(await query(`tasks/${id}/creations`), 'TaskNotFound')
  const [list, ids] = [await query('tasks'), [] as string[]]
  for await (const video of videos.list()) ids.push(video.id)
  t.ok(list.includes(String(task)) && !list.includes('video_'))
  t.ok(ids.includes(id) && ids.every(each => each.startsWith('video_')))
  // Later tests must not meet their polls.
  await end(id)
}
t.test('videos: they and the tasks of /ent/v2 do not show up in each other', async t => {
  await upstream.script('vd', finished())
  await isApart(t)
})

t.test('videos: resolution and seconds set the price, of stored images, too', async t => {
  await upstream.script('vd', finished())
  const image = await toFile(PNG, 'a.png')
  const { id: file_id } = await files.create({ file: image, purpose: 'vision' })
  const prices = [
    [{ model: 'vdq3-pro', prompt: 'x', seconds: '16', size: '1920x1080' }, 512],
    [{ model: 'vdq3', prompt: 'x', seconds: '1', size: '540x540' }, 10],
    [{ model: 'vdq2', prompt: 'x', seconds: '10', size: '540x960' }, 28],
    [{ model: 'vdq1', prompt: 'x' }, 80],
    [{ model: 'vd2.0', prompt: 'a file', input_reference: { file_id }, size: '360x640' }, 20],
    [{ model: 'vd1.5', prompt: 'x', seconds: '8' }, 100],
  ] as const
  const created = await Promise.all(prices.map(([body]) => videos.create(body as never)))
  await Promise.all(created.map(({ id }) => end(id)))
  const images = [`data:image/png;base64,${PNG.toString('base64')}`]
  t.match(await submitOf('a file'), { body: { images } })
  for (const [index, { id }] of created.entries()) {
    const [body, credits] = prices[index] ?? []
    t.match(
      await receiptOf(id),
      { cost: Number(((credits ?? 0) * 0.036).toFixed(6)) },
      JSON.stringify(body),
    )
  }
})
