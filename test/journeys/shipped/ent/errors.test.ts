/** The exact error bodies of /ent/v2: each required field missing, each limit crossed, each wrong
 *  value, and what a request may say beyond the schema. */
import t from 'tap'
import { makeSecret } from '../../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../../plugins/credentials/statements.ts'
import { postTo } from '../../../helpers/gateway/post.ts'
import { database, gateway, key, sentCalls } from '../shipped-gateway.ts'

type Fields = Readonly<Record<string, unknown>>
const post = async (path: string, body: unknown, authorization = `Bearer ${key}`) => {
  const response = await postTo(`${gateway.url}/ent/v2/${path}`, body, { authorization })
  return { status: response.status, json: (await response.json()) as Fields }
}

const IMAGE = 'https://files.example/a.png'
const images = (count: number): readonly string[] => Array.from({ length: count }, () => IMAGE)
const subject = (count: number, id = 'a') => ({ id, images: images(count) })
/** A valid request of each endpoint. */
const VALID: Readonly<Record<string, Fields>> = {
  text2video: { model: 'vdq3', prompt: 'a cat' },
  img2video: { model: 'vdq3-mix', images: images(1) },
  'start-end2video': { model: 'vdq3', images: images(2) },
  reference2video: { model: 'vdq3', prompt: '@a walks', images: images(3) },
  reference2image: { model: 'vdq2', prompt: 'a cat' },
  text2audio: { model: 'audio1.0', prompt: 'rain' },
  'audio-tts': { text: 'hello', voice_setting_voice_id: 'male-1' },
}
const CLIPS = ['text2video', 'img2video', 'start-end2video', 'reference2video']

const MESSAGES = {
  FieldLacking: 'field is missing or empty: ',
  FieldInvalid: 'invalid field: ',
  FieldItemCountOutOfRange: 'field item count out of range: ',
  FieldUnwanted: 'unwanted field: ',
} as const
type Reason = keyof typeof MESSAGES
type Row = readonly [path: string, change: Fields, reason: Reason, field: string]
const invalid = (path: string, field: string, ...values: readonly unknown[]): readonly Row[] =>
  values.map(value => [path, { [field]: value }, 'FieldInvalid', field])

const TABLE: readonly Row[] = [
  ...[
    ['text2video', 'model', 'prompt'],
    ['img2video', 'model', 'images'],
    ['start-end2video', 'model', 'images'],
    ['reference2video', 'model', 'prompt', 'images'],
    ['reference2image', 'model', 'prompt'],
    ['text2audio', 'model', 'prompt'],
    ['audio-tts', 'text', 'voice_setting_voice_id'],
  ].flatMap(([path = '', ...fields]) =>
    fields.map((field): Row => [path, { [field]: undefined }, 'FieldLacking', field]),
  ),
  ...['text2video', 'reference2video', 'reference2image', 'text2audio'].map(
    (path): Row => [path, { prompt: '' }, 'FieldLacking', 'prompt'],
  ),
  ['audio-tts', { text: '' }, 'FieldLacking', 'text'],
  // null is absent: an optional member is not a fault, a required one is missing
  ...[...CLIPS, 'reference2image', 'text2audio'].map(
    (path): Row => [
      path,
      {
        duration: null,
        resolution: null,
        seed: null,
        bgm: null,
        aspect_ratio: null,
        callback_url: null,
        payload: null,
        off_peak: null,
        model: null,
      },
      'FieldLacking',
      'model',
    ],
  ),
  ['text2video', { prompt: null }, 'FieldLacking', 'prompt'],
  ['audio-tts', { text: null, voice_setting_speed: null }, 'FieldLacking', 'text'],
  // images and subjects
  ['img2video', { images: [] }, 'FieldItemCountOutOfRange', 'images'],
  ['img2video', { images: images(2) }, 'FieldItemCountOutOfRange', 'images'],
  ['start-end2video', { images: images(1) }, 'FieldItemCountOutOfRange', 'images'],
  ['start-end2video', { images: images(3) }, 'FieldItemCountOutOfRange', 'images'],
  ['reference2video', { images: [] }, 'FieldItemCountOutOfRange', 'images'],
  ['reference2video', { images: images(8) }, 'FieldItemCountOutOfRange', 'images'],
  ['reference2image', { images: images(8) }, 'FieldItemCountOutOfRange', 'images'],
  ['reference2image', { model: 'vdq1' }, 'FieldLacking', 'images'],
  ['reference2image', { model: 'vdq1', images: [] }, 'FieldItemCountOutOfRange', 'images'],
  ['reference2video', { subjects: [subject(1)] }, 'FieldUnwanted', 'images'],
  ...(
    [
      [[], 'FieldItemCountOutOfRange', 'subjects'],
      [Array(8).fill(subject(1)), 'FieldItemCountOutOfRange', 'subjects'],
      [[subject(3), subject(3), subject(2)], 'FieldItemCountOutOfRange', 'subjects'],
      [[subject(0)], 'FieldItemCountOutOfRange', 'subjects[0].images'],
      [[subject(4)], 'FieldItemCountOutOfRange', 'subjects[0].images'],
      [[{ id: 'a' }], 'FieldLacking', 'subjects[0].images'],
      [[{ images: images(1) }], 'FieldLacking', 'subjects[0].id'],
    ] as const
  ).map(
    ([subjects, reason, field]): Row => [
      'reference2video',
      { images: undefined, subjects },
      reason,
      field,
    ],
  ),
  ['img2video', { images: ['file:///etc/passwd'] }, 'FieldInvalid', 'images[0]'],
  ['img2video', { images: ['data:text/html;base64,AA'] }, 'FieldInvalid', 'images[0]'],
  ['img2video', { images: [7] }, 'FieldInvalid', 'images[0]'],
  // fields of every clip
  ...CLIPS.flatMap(path => [
    ...invalid(path, 'duration', 0, 17, 5.5, '5'),
    ...invalid(path, 'resolution', '360p', '4K', 720),
    ...invalid(path, 'movement_amplitude', 'huge', 1),
    ...invalid(path, 'seed', -1, 'x', 1.5),
    ...invalid(path, 'wm_position', 0, 5),
    ...invalid(path, 'off_peak', 'true'),
    ...invalid(path, 'callback_url', 7),
    ...invalid(path, 'payload', 'x'.repeat(1_048_577), 7),
  ]),
  ...invalid('text2video', 'aspect_ratio', '2:1', '21:9'),
  ...invalid('text2video', 'style', 'comic'),
  ...invalid('text2video', 'prompt', 'x'.repeat(5_001)),
  ...invalid('reference2video', 'aspect_ratio', '2:1'),
  ...invalid('reference2image', 'aspect_ratio', '2:1'),
  ...invalid('reference2image', 'resolution', '720p'),
  ...invalid('reference2image', 'prompt', 'x'.repeat(2_001)),
  ...invalid('text2audio', 'duration', 1, 11),
  ...invalid('text2audio', 'prompt', 'x'.repeat(1_501)),
  ...invalid('audio-tts', 'text', 'x'.repeat(10_000)),
  ...invalid('audio-tts', 'voice_setting_speed', 0.4, 2.1, '0.4', '2.1'),
  ...invalid('audio-tts', 'voice_setting_volume', -1, 11, '11'),
  ...invalid('audio-tts', 'voice_setting_pitch', -13, 13, '13'),
  ...invalid('audio-tts', 'voice_setting_emotion', 'bored'),
  // models with other ranges
  ['text2video', { model: 'vdq1', duration: 4 }, 'FieldInvalid', 'duration'],
  ['text2video', { model: 'vdq1', resolution: '720p' }, 'FieldInvalid', 'resolution'],
  ['text2video', { model: 'vdq1', aspect_ratio: '3:4' }, 'FieldInvalid', 'aspect_ratio'],
  ['text2video', { model: 'vdq2', duration: 11 }, 'FieldInvalid', 'duration'],
  ['text2video', { model: 'vdq2', prompt: 'x'.repeat(2_001) }, 'FieldInvalid', 'prompt'],
  ['start-end2video', { model: 'vdq2-pro', duration: 9 }, 'FieldInvalid', 'duration'],
  ['img2video', { model: 'vdq2-pro-fast', resolution: '540p' }, 'FieldInvalid', 'resolution'],
  ['img2video', { model: 'vd2.0', duration: 5 }, 'FieldInvalid', 'duration'],
  ['img2video', { model: 'vd2.0', duration: 8, resolution: '360p' }, 'FieldInvalid', 'resolution'],
  ['reference2video', { model: 'vd2.0', resolution: '1080p' }, 'FieldInvalid', 'resolution'],
]

t.test('/ent/v2: refuses each invalid request with its body', async t => {
  for (const [path, change, reason, field] of TABLE) {
    const { status, json } = await post(path, { ...VALID[path], ...change })
    const name = `${path} ${JSON.stringify(change).slice(0, 80)}`
    t.equal(status, 400, name)
    const { metadata, message, ...body } = json
    t.same(body, { code: 400, reason }, name)
    // The values that an invalid field may have follow it.
    const text = String(message)
    t.equal(
      reason === 'FieldInvalid' ? text.replace(/ \(.+\)$/, '') : text,
      `${MESSAGES[reason]}${field}`,
      name,
    )
    t.match(metadata, { trace_id: /^[0-9a-f]{32}$/ }, name)
  }
  t.same(await sentCalls(), [], 'nothing was sent')
})

t.test('/ent/v2: an invalid field is named with what it may be', async t => {
  for (const [path, change, message] of [
    ['text2video', { duration: 17 }, 'duration (1 to 16)'],
    ['text2video', { duration: 5.5 }, /^duration \(an integer/],
    ['img2video', { resolution: '4K' }, 'resolution (540p, 720p, 1080p)'],
    ['img2video', { wm_position: 5 }, 'wm_position (1, 2, 3, 4)'],
    ['text2video', { prompt: 'x'.repeat(5_001) }, 'prompt (at most 5000 characters)'],
    ['audio-tts', { voice_setting_speed: 2.1 }, 'voice_setting_speed (0.5 to 2)'],
  ] as const) {
    const { json } = await post(path, { ...VALID[path], ...change })
    t.equal(json.reason, 'FieldInvalid')
    const fields = String(json.message).replace(/^invalid field: /, '')
    if (typeof message === 'string') t.equal(fields, message)
    else t.match(fields, message)
  }
})

t.test('/ent/v2: names all fields that are missing or empty', async t => {
  for (const [path, body, fields] of [
    ['text2video', {}, 'model, prompt'],
    ['text2video', { prompt: '' }, 'model, prompt'],
    ['text2video', { model: '', prompt: '' }, 'model, prompt'],
    ['img2video', {}, 'model, images'],
    ['start-end2video', { prompt: 'x' }, 'model, images'],
    ['reference2video', {}, 'model, prompt, images'],
    ['reference2video', { subjects: [subject(1)] }, 'model, prompt'],
    ['reference2image', {}, 'model, prompt'],
    ['text2audio', {}, 'model, prompt'],
    ['audio-tts', {}, 'text, voice_setting_voice_id'],
    ['audio-tts', { text: '' }, 'voice_setting_voice_id, text'],
  ] as const) {
    const { status, json } = await post(path, body)
    t.equal(status, 400)
    const message = `field is missing or empty: ${fields}`
    t.match(json, { code: 400, reason: 'FieldLacking', message }, `${path} ${fields}`)
  }
})

t.test('/ent/v2: refuses models that do not exist or are not served there', async t => {
  for (const [path, model] of [
    ['text2video', 'vdq9'],
    ['text2video', 'gp-4.1'],
    ['text2video', 'vd2.0'],
    ['reference2video', 'vdq3-pro'],
    ['reference2image', 'vdq3'],
    ['text2audio', 'vdq3'],
  ] as const) {
    const { status, json } = await post(path, { ...VALID[path], model })
    t.equal(status, 400)
    t.match(json, { code: 400, reason: 'ModelUnavailable', message: 'model unavailable' }, model)
  }
})

t.test('/ent/v2: refuses missing and wrong keys', async t => {
  for (const authorization of ['', 'Bearer sk-wrong', 'Token sk-wrong', `Basic ${key}`]) {
    const { status, json } = await post('text2video', VALID.text2video, authorization)
    t.equal(status, 401, authorization.slice(0, 8))
    t.match(json, { code: 401, reason: 'Unauthorized' })
  }
})

t.test('/ent/v2: refuses a call that the balance does not cover before it is sent', async t => {
  const idOf = async (list: Parameters<typeof database.write>[0]) =>
    Number((await database.write(list)).at(-1)?.[0]?.id)
  const account = await idOf(createAccount({ name: 'poor', role: 'customer' }, Date.now()))
  const secret = makeSecret('key')
  await idOf(addKey({ account, name: 'poor', secret }, Date.now()))
  for (const [path, body] of Object.entries(VALID)) {
    const { status, json } = await post(path, body, `Token ${secret.text}`)
    t.equal(status, 400, path)
    t.match(json, { code: 400, reason: 'CreditInsufficient' }, path)
  }
  t.same(await sentCalls(), [], 'nothing was sent')
})

t.test('/ent/v2: an unknown task, a wrong page and a wrong path have their own bodies', async t => {
  for (const [method, path, code, reason] of [
    ['GET', 'tasks/123456789012345678/creations', 404, 'TaskNotFound'],
    ['POST', 'tasks/123456789012345678/cancel', 404, 'TaskNotFound'],
    ['GET', 'tasks?pager.pagesz=101', 400, 'PageSizeOutOfRange'],
    ['GET', 'nothing', 404, 'NotFound'],
  ] as const) {
    const response = await fetch(`${gateway.url}/ent/v2/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
    })
    t.equal(response.status, code)
    t.match(await response.json(), { code, reason })
  }
})

t.test('a body above 20 MiB is refused in the body of this API', async t => {
  const { status, json } = await post('img2video', {
    ...VALID.img2video,
    images: [`data:image/png;base64,${'A'.repeat(20 * 2 ** 20)}`],
  })
  t.equal(status, 413)
  t.match(json, { code: 413, message: /20971520/ })
})
