/** A video task over the shipped routes.yaml and a real upstream process: from its create to its
 *  result, its charge and its receipt. */
import t from 'tap'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { database, gateway, upstream } from '../shipped-gateway.ts'
import { call, type Fields, receiptOf, resultOf, sentBodies, turn } from './client.ts'

const URL = 'https://files.example/clip.mp4'
const creations = [{ id: '1', url: URL, cover_url: '', watermarked_url: '' }]
/** Each create is accepted, and each query finds it finished. */
const finished = turn({ task_id: '911088422699962368', state: 'success', creations })
/** The body of the submit that contains this text. */
const sentBody = async (text: string): Promise<Fields> =>
  (await sentBodies()).find(body => JSON.stringify(body).includes(text)) ?? {}

t.test('text2video: is created, sent, queried, charged and on a receipt', async t => {
  await upstream.script(
    'vd',
    turn({ task_id: '911088422699962368', state: 'created' }),
    turn({ state: 'queueing', creations: [] }),
    turn({ state: 'processing', creations: [] }),
    turn({ state: 'success', creations }),
  )
  const payload = 'order 7 é'
  const { status, json, request } = await call('POST', '/ent/v2/text2video', {
    model: 'vdq3',
    prompt: 'a cat',
    payload,
    seed: '0',
    nonsense: { not: 'sent' },
    is_rec: true,
  })
  t.equal(status, 200)
  t.match(json.task_id, /^\d{18}$/)
  const seed = Number(json.seed)
  t.ok(seed > 0, 'a random seed is echoed')
  const { task_id: id, created_at: createdAt, payload: echoedPayload, ...echoed } = json
  t.match(createdAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.ok(echoedPayload === payload, 'the payload is echoed')
  t.same(echoed, {
    type: 'text2video',
    state: 'created',
    model: 'vdq3',
    style: 'general',
    prompt: 'a cat',
    images: [],
    duration: 5,
    seed,
    aspect_ratio: '16:9',
    resolution: '720p',
    movement_amplitude: 'auto',
    audio: true,
    credits: 125,
    cus_priority: 0,
    off_peak: false,
    watermark: false,
    is_rec: false,
    wm_position: 3,
    wm_url: '',
    meta_data: '',
    client_request_id: '',
  })
  const { payload: _, ...result } = await resultOf(id)
  t.same(result, {
    id,
    task_id: id,
    state: 'success',
    err_code: '',
    credits: 125,
    bgm: false,
    off_peak: false,
    creations,
  })
  const [submit, ...polls] = await upstream.events('request', 'vd')
  t.equal(submit?.head.target, '/s/vd/ent/v2/text2video')
  const { authorization } = Object.fromEntries(submit?.head.headers ?? [])
  t.equal(authorization, 'Token operators-vidu-key')
  const { payload: sentPayload, ...upstreamBody } = await sentBody('order 7')
  t.ok(sentPayload === payload)
  t.same(upstreamBody, {
    model: 'viduq3',
    prompt: 'a cat',
    seed,
    duration: 5,
    resolution: '720p',
    audio: true,
    aspect_ratio: '16:9',
  })
  t.ok(polls.every(({ head }) => head.target === '/s/vd/ent/v2/tasks/911088422699962368/creations'))
  const receipt = await receiptOf(request)
  // 5 seconds at 25 credits of 0.036 CNY.
  t.match(receipt, { cost: 4.5, uncollected: 0, usage: { calls: 1, seconds: 5 } })
  t.match(receipt.lines, [
    { meter: 'seconds', quantity: '5', price: '0.90', by: { resolution: '720p' }, amount: 4.5 },
  ])
  t.same(await receiptOf(String(id)), receipt, 'the receipt is found by the task, too')
})

const SPEECH = { text: 'é'.repeat(250), voice_setting_voice_id: 'male-1' }
/** The log's entry for a request. */
const loggedDetails = (request: string): Promise<unknown> =>
  eventually(async () => {
    const line = gateway
      .output()
      .split('\n')
      .find(text => text.includes(request) && text.includes('"msg":"request"'))
    return line && (JSON.parse(line) as Fields).details
  })

const PRICES: readonly (readonly [path: string, body: Fields, credits: number])[] = [
  ['text2video', { model: 'vdq3-pro', prompt: 'x' }, 150],
  ['text2video', { model: 'vdq3-pro', prompt: 'x', duration: 16, resolution: '1080p' }, 512],
  ['text2video', { model: 'vdq2', prompt: 'x', duration: 1, resolution: '540p' }, 10],
  ['text2video', { model: 'vdq2', prompt: 'x', resolution: '540p', off_peak: true }, 9],
  ['img2video', { model: 'vdq3', images: [URL], is_rec: true, duration: 3 }, 85],
  ['img2video', { model: 'vdq3', images: [URL], is_rec: true, off_peak: true, duration: 3 }, 43],
  ['img2video', { model: 'vd2.0', images: [URL] }, 20],
  ['img2video', { model: 'vd2.0', images: [URL], duration: 8 }, 100],
  ['start-end2video', { model: 'vdq1', images: [URL, URL] }, 80],
  ['reference2image', { model: 'vdq2', prompt: 'x', resolution: '4K' }, 20],
  ['reference2image', { model: 'vdq1', prompt: 'x', images: [URL] }, 20],
  ['text2audio', { model: 'audio1.0', prompt: 'rain' }, 10],
  ['audio-tts', SPEECH, 3],
]
/** Nanos of a credit: 0.036 CNY. */
const CREDIT = 36_000_000
const FIND_HOLD = {
  name: 'test: hold',
  text: 'SELECT held FROM charges WHERE request = ?',
}
t.test('a payload of 1,048,576 characters is echoed untouched', async t => {
  await upstream.script('vd', finished)
  const payload = 'é'.repeat(1_048_576)
  const { json } = await call('POST', '/ent/v2/text2audio', {
    model: 'audio1.0',
    prompt: 'rain',
    payload,
  })
  t.ok(json.payload === payload)
  t.ok((await resultOf(json.task_id)).payload === payload)
})

t.test('creates: hold and cost what resolution, duration and options say', async t => {
  await upstream.script('vd', finished)
  const ids: unknown[] = []
  for (const [path, body, credits] of PRICES) {
    const { json, request } = await call('POST', `/ent/v2/${path}`, body)
    const name = `${path} ${JSON.stringify(body)}`
    t.equal(json.credits, credits, name)
    const [row] = await database.read(FIND_HOLD, [request])
    t.equal(Number(row?.held), credits * CREDIT, `${name}: the hold`)
    const { resolution, duration } = json
    const settings = { ...(resolution ? { resolution } : {}), ...(duration ? { duration } : {}) }
    const details = { task: json.task_id, ...settings }
    t.match(await loggedDetails(request), details, `${name}: the log line`)
    t.match((await receiptOf(request)).settings, settings, `${name}: the receipt`)
    ids.push(json.task_id)
  }
  // Later tests must not meet their polls.
  const results = await Promise.all(ids.map(resultOf))
  for (const [index, { state, credits }] of results.entries())
    t.same([state, credits], ['success', PRICES[index]?.[2]])
})

t.test('reference2video: a model without subjects gets their images', async t => {
  await upstream.script('vd', finished)
  const subjects = [
    { id: 'a', images: [URL] },
    { name: 'b', images: [`${URL}?2`] },
  ]
  const { json } = await call('POST', '/ent/v2/reference2video', {
    model: 'vdq3-mix',
    prompt: '@a meets @b',
    subjects,
  })
  t.match(json, { type: 'character2video', subjects })
  await resultOf(json.task_id)
  t.match(await sentBody('@a meets'), { prompt: '@a meets @b', images: [URL, `${URL}?2`] })
})

t.test('audio-tts: answers with the file, and is charged by its characters', async t => {
  await upstream.script('vd', turn({ task_id: '1', state: 'success', file_url: URL }))
  const { json, request } = await call('POST', '/ent/v2/audio-tts', {
    text: 'é'.repeat(101),
    voice_setting_voice_id: 'male-1',
    voice_setting_speed: '1.5',
    model: 'ignored',
  })
  const { task_id: id, created_at: _, ...answer } = json
  t.same(answer, { state: 'success', file_url: URL, credits: 2, payload: '' })
  t.match((await resultOf(id)).creations, [{ url: URL }])
  t.same(await sentBody('male-1'), {
    text: 'é'.repeat(101),
    voice_setting_voice_id: 'male-1',
    voice_setting_speed: '1.5',
  })
  t.match(await receiptOf(request), { cost: 0.072, usage: { characters: 101 } })
})
