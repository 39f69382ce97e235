/** The creates of /ent/v2 that go on from a clip, or whose length only the provider knows: each is
 *  sent, held by its tariff, and charged by the credits that the provider reports. Requests are
 *  those of platform.vidu.com/docs. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { makeSecret } from '../../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../../plugins/credentials/statements.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { database, gateway, upstream } from '../shipped-gateway.ts'
import { call, type Fields, receiptOf, resultOf, sentBodies, turn } from './client.ts'

const URL = 'https://files.example/clip.mp4'
const IMAGE = 'https://files.example/a.png'
/** Each create is accepted, and each query finds it finished. */
const finished = (reported: Fields, id = '2608612635966166', duration?: number) =>
  turn({
    task_id: '911088422699962368',
    state: 'success',
    ...reported,
    creations: [{ id, url: URL, cover_url: '', ...(duration && { video: { duration } }) }],
  })
const FIND_HOLD = { name: 'test: hold', text: 'SELECT held FROM charges WHERE request = ?' }
/** In units of the currency. */
const CREDIT = 0.036
const costOf = (credits: number): number => Math.round(credits * CREDIT * 1e6) / 1e6

const SEGMENTS = [{ key_image: IMAGE, prompt: 'x', duration: 7 }, { key_image: IMAGE }]
interface Create {
  readonly body: Fields
  /** Members that the upstream gets besides, or in place. */
  readonly upstreamMembers?: Fields
  /** The credits that are held. */
  readonly heldCredits: number
}
const CREATES: Readonly<Record<string, Create>> = {
  extend: {
    body: { model: 'vdq2-turbo', video_url: URL, prompt: 'x' },
    upstreamMembers: { model: 'viduq2-turbo', duration: 5, resolution: '720p' },
    heldCredits: 10 + 5 * 5,
  },
  multiframe: {
    body: { model: 'vdq2-pro', start_image: IMAGE, image_settings: SEGMENTS, resolution: '1080p' },
    upstreamMembers: { model: 'viduq2-pro' },
    heldCredits: 45 + 12 * 15,
  },
  'upscale-new': {
    body: { video_url: URL },
    upstreamMembers: { upscale_resolution: '1080p' },
    heldCredits: 300 * 10,
  },
  'lip-sync': {
    body: { video_url: URL, text: 'hello', speed: 1.5, voice_id: 'male-1', volume: 3 },
    heldCredits: (600 / 5) * 20,
  },
  'trending-replicate': {
    body: { video_url: URL, images: [IMAGE], resolution: '540p', remove_audio: true },
    upstreamMembers: { aspect_ratio: '16:9' },
    heldCredits: 180 * 12,
  },
  template: {
    body: { template: 'hugging', images: [IMAGE, IMAGE], seed: 7, a_member_of_its_own: 'x' },
    heldCredits: 400,
  },
  'template-story': {
    body: { story: 'one_shot', images: [IMAGE, IMAGE, IMAGE] },
    heldCredits: 2000,
  },
  timing2audio: {
    body: {
      model: 'audio1.0',
      duration: 4.5,
      timing_prompts: [{ from: 0, to: 3.5, prompt: 'birds' }],
      seed: 7,
    },
    heldCredits: 10,
  },
}

t.test('creates: sent, held by their tariff and charged by the reported credits', async t => {
  await upstream.script('vd', finished({ credits: 9 }))
  const tasks = []
  for (const [path, { body, heldCredits }] of Object.entries(CREATES)) {
    const { status, json, request } = await call('POST', `/ent/v2/${path}`, body)
    t.equal(status, 200, JSON.stringify(json))
    const { a_member_of_its_own: _, model: _model, ...echoed } = body
    t.match(json, { ...echoed, type: path, credits: heldCredits })
    t.match(String(json.task_id), /^\d{18}$/)
    const [row] = await database.read(FIND_HOLD, [request])
    t.equal(Number(row?.held), Math.round(costOf(heldCredits) * 1e9), `${path}: the hold`)
    tasks.push({ path, id: json.task_id, request })
  }
  const results = await Promise.all(tasks.map(({ id }) => resultOf(id)))
  for (const result of results)
    t.match(result, { state: 'success', credits: 9, creations: [{ url: URL }] })
  const bodies = await sentBodies()
  t.equal(bodies.length, tasks.length)
  for (const { path, id, request } of tasks) {
    const { body, upstreamMembers } = CREATES[path] ?? {}
    const expected = { ...body, ...upstreamMembers }
    t.ok(
      bodies.some(each => isDeepStrictEqual(each, expected)),
      `${path}: ${JSON.stringify(expected)} is sent`,
    )
    const receipt = await receiptOf(request)
    t.match(receipt, { cost: costOf(9), uncollected: 0, usage: { credits: 9 } }, path)
    t.match(receipt.lines, [{ meter: 'credits', quantity: '9', price: '0.036' }], path)
    const { json: list } = await call('GET', `/ent/v2/tasks?templates=${path}`)
    t.match(list, { tasks: [{ task_id: id, template: path }] })
  }
})

t.test('reported credits: more than the hold costs the hold', async t => {
  await upstream.script('vd', finished({ credits: 3_000 }))
  const { json, request } = await call('POST', '/ent/v2/template', CREATES.template?.body)
  await resultOf(json.task_id)
  t.match(await receiptOf(request), { cost: costOf(400), uncollected: costOf(2_600) })
})

t.test('no credits reported: the length of the clip or the request is charged', async t => {
  const upscaled = ['upscale-new', 39, { seconds: 3.85 }] as const
  for (const [reported, rows] of [
    [{}, [upscaled, ['extend', 35, { seconds: 5 }], ['template', 400, { credits: 400 }]]],
    [{ credits: 0 }, [upscaled, ['template', 400, { credits: 400 }]]],
    [{ credits: 'n/a' }, [['lip-sync', 20, { seconds: 3.85 }]]],
  ] as const) {
    await upstream.script('vd', finished(reported, '1', 3.85))
    const tasks = []
    for (const [path, credits, usage] of rows) {
      const { json, request } = await call('POST', `/ent/v2/${path}`, CREATES[path]?.body)
      tasks.push({ path, credits, usage, request, id: json.task_id })
    }
    await Promise.all(tasks.map(({ id }) => resultOf(id)))
    for (const { path, credits, usage, request } of tasks) {
      const name = `${path} ${JSON.stringify(reported)}`
      t.match(await receiptOf(request), { cost: costOf(credits), usage }, name)
    }
  }
})

t.test('a creation: only one of the account is used', async t => {
  const id = '7001'
  await upstream.script('vd', finished({ credits: 9 }, id))
  const { json } = await call('POST', '/ent/v2/extend', CREATES.extend?.body)
  await resultOf(json.task_id)
  await upstream.forget()
  const ids: unknown[] = []
  for (const path of ['extend', 'upscale-new']) {
    const body = { model: 'vdq2-pro', video_creation_id: id }
    const { status, json } = await call('POST', `/ent/v2/${path}`, body)
    t.equal(status, 200, JSON.stringify(json))
    t.equal(json.video_creation_id, id)
    ids.push(json.task_id)
  }
  await Promise.all(ids.map(resultOf))
  t.same(
    (await sentBodies()).map(body => body.video_creation_id),
    [id, id],
  )
  const idOf = async (list: Parameters<typeof database.write>[0]) =>
    Number((await database.write(list)).at(-1)?.[0]?.id)
  const account = await idOf(createAccount({ name: 'another', role: 'customer' }, Date.now()))
  const secret = makeSecret('key')
  await idOf(addKey({ account, name: 'another', secret }, Date.now()))
  await giveCredit(database, account, 1_000n * 10n ** 9n)
  const authorization = `Token ${secret.text}`
  for (const [headers, other] of [
    [{ authorization }, id],
    [{}, '7002'],
    [{}, '700'],
  ] as const) {
    const body = { video_creation_id: other }
    const { status, json } = await call('POST', '/ent/v2/upscale-new', body, headers)
    t.match({ status, json }, { status: 400, json: { reason: 'FieldInvalid' } })
    t.match(String(json.message), /video_creation_id/)
  }
})

t.test('a failed task is not charged; a repeated create gets the first answer', async t => {
  await upstream.script('vd', turn({ task_id: '1', state: 'failed', err_code: 'X', credits: 9 }))
  const { json, request } = await call('POST', '/ent/v2/lip-sync', CREATES['lip-sync']?.body)
  t.match(await resultOf(json.task_id), { state: 'failed', err_code: 'X', credits: 0 })
  t.match(await receiptOf(request), { cost: 0 })
  const headers = { 'idempotency-key': 'vidu-edits' }
  await upstream.script('vd', finished({ credits: 9 }))
  const first = await call('POST', '/ent/v2/multiframe', CREATES.multiframe?.body, headers)
  const second = await call('POST', '/ent/v2/multiframe', CREATES.multiframe?.body, headers)
  t.strictSame(second.json, first.json)
  await resultOf(first.json.task_id)
})

t.test('requests: what is missing or wrong is named', async t => {
  for (const [path, body, reason, field] of [
    ['extend', { model: 'vdq2-pro' }, 'FieldLacking', 'video_url'],
    ['extend', { ...CREATES.extend?.body, duration: 8 }, 'FieldInvalid', 'duration'],
    ['extend', { ...CREATES.extend?.body, model: 'vdq3' }, 'ModelUnavailable', ''],
    ['upscale-new', {}, 'FieldLacking', 'video_url'],
    ['upscale-new', { video_url: 'ftp://x' }, 'FieldInvalid', 'video_url'],
    ['lip-sync', { video_url: URL }, 'FieldLacking', 'audio_url'],
    ['multiframe', { model: 'vdq2-pro', start_image: IMAGE }, 'FieldLacking', 'image_settings'],
    [
      'multiframe',
      { ...CREATES.multiframe?.body, image_settings: [SEGMENTS[0]] },
      'FieldItemCountOutOfRange',
      'image_settings',
    ],
    ['template', { template: 'hugging' }, 'FieldLacking', 'images'],
    ['timing2audio', { ...CREATES.timing2audio?.body, duration: 11 }, 'FieldInvalid', 'duration'],
  ] as const) {
    const { status, json } = await call('POST', `/ent/v2/${path}`, body)
    t.match({ status, reason: json.reason }, { status: 400, reason }, JSON.stringify(json))
    t.ok(String(json.message).includes(field), `${path}: ${json.message}`)
  }
})

t.test('credits: those of the caller, in the form of Vidu', async t => {
  const [token] = /\bst-\w{20,}/.exec(gateway.output()) ?? []
  const own = await call('GET', '/api/user/self', undefined, { authorization: `Bearer ${token}` })
  const { balance } = own.json.data as { readonly balance: number }
  const { status, json } = await call('GET', '/ent/v2/credits')
  t.equal(status, 200, JSON.stringify(json))
  const [remains] = json.remains as readonly { readonly credit_remain: number }[]
  t.match(json, { remains: [{ type: 'metered' }], packages: [] })
  t.equal(remains?.credit_remain, Math.floor(balance / CREDIT))
  t.ok(Number(remains?.credit_remain) > 0)
  const { json: detailed } = await call('GET', '/ent/v2/credits?show_detail=true')
  t.match(detailed.packages, [{ type: 'metered', credit_remain: remains?.credit_remain }])
  const refused = await call('GET', '/ent/v2/credits', undefined, { authorization: 'Token no' })
  t.match(refused, { status: 401, json: { reason: 'Unauthorized' } })
})
