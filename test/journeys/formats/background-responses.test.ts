/** Background responses: billing, cancellation, upstream errors and the crash of a worker. */
import { GoogleGenAI } from '@google/genai'
import { APIConnectionError } from 'openai'
import t, { type Test } from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  messageBody,
  plainReply,
  rejectsWith,
  responseBody,
  startStored,
} from '../../helpers/gateway/stored-responses.ts'
import { statement } from '../../helpers/store/store.ts'

const {
  upstream,
  gateway,
  ownClient: mine,
  database,
  rows,
  lastRequest: sentBody,
} = await startStored(t)

/** Ignores connection errors while no worker serves. */
const ignoreConnectionError = (error: unknown): undefined => {
  if (!(error instanceof APIConnectionError)) throw error
}
const until = (id: string, status: string) =>
  eventually(async () => {
    const stored = await mine.responses.retrieve(id).catch(ignoreConnectionError)
    return stored?.status === status ? stored : undefined
  })
const charge = async (id: string) =>
  (await rows(`SELECT state, amount FROM charges WHERE request = 'req_${id.slice(5)}'`))[0]

const killWorkers = async (): Promise<void> => {
  const config = await gateway.askAdmin('/-/config')
  const { workers } = (await config.json()) as { workers: readonly { readonly pid: number }[] }
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
}

t.test('background response: a tier without a price is left out, and named', async t => {
  await upstream.script('gp', plainReply(responseBody('resp_x', 'standard')))
  const { data, response } = await mine.responses
    .create({ model: 'gp', input: 'Think', background: true, service_tier: 'flex' })
    .withResponse()
  t.equal(response.headers.get('x-tollgate-dropped'), 'service_tier')
  t.not(data.service_tier, 'flex', 'the queued response names no tier that is not served')
  t.not((await until(data.id, 'completed')).service_tier, 'flex')
  t.notOk('service_tier' in (await sentBody('gp')), 'the upstream gets none')
})

t.test('background response: a tier that its target does not carry is in no answer', async t => {
  await upstream.script('cl', plainReply(messageBody('done')))
  const { id, service_tier: queuedTier } = await mine.responses.create({
    model: 'tiered',
    input: 'Think',
    background: true,
    service_tier: 'priority',
  })
  t.not(queuedTier, 'priority')
  t.equal((await until(id, 'completed')).service_tier, 'default')
  await upstream.script('cl', [{ do: 'body' }, { do: 'close' }])
  const failed = await mine.responses.create({
    model: 'tiered',
    input: 'Think',
    background: true,
    service_tier: 'priority',
  })
  t.not((await until(failed.id, 'failed')).service_tier, 'priority')
})

t.test('background response: completes after its client disconnects, and is charged', async t => {
  await upstream.script('cl', plainReply(messageBody('done')))
  const [gate, ...rest] = [
    { do: 'gate', name: 'slow' } as const,
    ...plainReply(responseBody('resp_x', 'deep')).slice(1),
  ]
  await upstream.script('gp', [{ do: 'body' }, gate, ...rest])
  const queuedResponse = await mine.responses.create({
    model: 'gp',
    input: 'Think',
    background: true,
  })
  t.equal(queuedResponse.status, 'queued')
  t.ok(queuedResponse.background)
  t.equal((await until(queuedResponse.id, 'in_progress')).id, queuedResponse.id)
  await rejectsWith(
    t,
    mine.responses.create({ model: 'cl', input: 'x', previous_response_id: queuedResponse.id }),
    400,
    { param: 'previous_response_id' },
  )
  await upstream.open('slow')
  const completedResponse = await until(queuedResponse.id, 'completed')
  t.equal(completedResponse.id, queuedResponse.id)
  t.ok(completedResponse.background)
  t.match(completedResponse.output, [{ content: [{ text: 'deep' }] }])
  t.match(await charge(queuedResponse.id), { state: 'settled', amount: 15_000_000 })
  t.notOk('background' in (await sentBody('gp')), 'the upstream gets a foreground request')
  await mine.responses.create({
    model: 'cl',
    input: 'Go on',
    previous_response_id: queuedResponse.id,
  })
  t.match(JSON.stringify((await sentBody('cl')).messages), /Think.*deep.*Go on/)
})

t.test(
  'background response: cancelling ends the upstream request and releases the hold',
  async t => {
    await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }])
    await upstream.forget()
    const limit = { max_output_tokens: 16 }
    const { id } = await mine.responses.create({
      model: 'gp',
      input: 'x',
      ...limit,
      background: true,
    })
    await upstream.until('body')
    const [openCharge] = await eventually(async () => {
      const openCharges = await rows("SELECT held FROM charges WHERE state = 'open'")
      return openCharges.length > 0 ? openCharges : undefined
    })
    t.ok(Number(openCharge?.held) < 300_000_000, 'the output limit of the request bounds the hold')
    t.equal((await mine.responses.cancel(id)).status, 'cancelled')
    await upstream.until('close')
    await eventually(async () => ((await charge(id))?.state === 'released' ? true : undefined))
    t.equal((await mine.responses.cancel(id)).status, 'cancelled', 'cancelling twice succeeds')
    t.equal((await mine.responses.retrieve(id)).status, 'cancelled')
  },
)

t.test('background response: an upstream error is stored with its reason', async t => {
  const text = '{"error":{"message":"no such thing","type":"invalid_request_error","code":"bad"}}'
  await upstream.script('gp', [
    { do: 'body' },
    {
      do: 'send',
      bytes: `HTTP/1.1 400 Bad\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    },
  ])
  const { id } = await mine.responses.create({ model: 'gp', input: 'x', background: true })
  t.match((await until(id, 'failed')).error, { code: 'bad', message: 'no such thing' })
})

t.test('background response: another worker finishes it after its own crashes', async t => {
  const steps = plainReply(responseBody('resp_again', 'finished'))
  await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }], steps)
  await upstream.forget()
  const { id } = await mine.responses.create({ model: 'gp', input: 'x', background: true })
  await upstream.until('body')
  await eventually(async () => ((await charge(id))?.state === 'open' ? true : undefined))
  await killWorkers()
  t.equal((await until(id, 'completed')).output_text, 'finished')
  t.match(await charge(id), { state: 'released' })
  t.match(await charge(`${id}_2`), { state: 'settled', amount: 15_000_000 })
  t.same(await rows('SELECT response FROM stored_calls'), [])
})

const IMAGE = `data:image/png;base64,${'A'.repeat(200_000)}`
const post = async (path: string, body: object) => {
  const response = await postTo(gateway.url + path, body, bearer(await gateway.key()))
  return { status: response.status, json: await response.json() }
}

/** The id of a background response that a second worker has finished, and its stored call. */
const crashed = async (
  t: Test,
  more: { readonly conversation?: string; readonly input?: string },
) => {
  const image = { type: 'input_image', image_url: IMAGE, detail: 'auto' } as const
  const answer = plainReply(responseBody('resp_kept', 'finished'))
  await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }], answer)
  await upstream.forget()
  const input = [{ role: 'user' as const, content: [image] }]
  const { id } = await mine.responses.create({ model: 'gp', input, background: true, ...more })
  await upstream.until('body')
  const whole = await sentBody('gp')
  const [call] = await rows('SELECT length(call) AS size FROM stored_calls')
  await killWorkers()
  await until(id, 'completed')
  t.same(await sentBody('gp'), whole, 'the second attempt sends the same')
  return { id, input: JSON.stringify(whole.input), size: Number(call?.size) }
}

t.test('background call: keeps its input once, and sends it whole after a crash', async t => {
  const { id, input, size } = await crashed(t, {})
  t.ok(size < 4_096, `the call is stored in ${size} characters`)
  t.ok(input.includes(IMAGE))
  t.match((await mine.responses.inputItems.list(id)).data, [{ content: [{ image_url: IMAGE }] }])
  const { id: conversation } = await mine.conversations.create({})
  const first = await crashed(t, { conversation })
  t.ok(first.input.includes(IMAGE))
  const items = await mine.conversations.items.list(conversation, { order: 'asc' })
  t.match(items.data, [{ content: [{ image_url: IMAGE }] }, { role: 'assistant' }])
  const { input: whole } = await crashed(t, { conversation, input: 'And now?' })
  t.match(whole, /base64,AAAA.*finished.*And now/)
})

t.test('background call: a request that cannot be stored is refused, and not charged', async t => {
  const charges = async () => rows('SELECT request FROM charges')
  const before = await charges()
  await upstream.forget()
  const input = 'A'.repeat(300_000)
  const responses = await post('/v1/responses', { model: 'gp', background: true, input })
  t.match(responses, { status: 400, json: { error: { message: /262144 bytes/ } } })
  const parameters = { type: 'object', description: input }
  for (const repeated of [
    { instructions: input },
    { tools: [{ type: 'function', name: 'f', parameters }] },
    { text: { format: { type: 'json_schema', name: 'f', schema: parameters } } },
  ]) {
    const refusal = await post('/v1/responses', {
      model: 'gp',
      background: true,
      input: 'Hi',
      ...repeated,
    })
    t.match(refusal, { status: 400, json: { error: { message: /262144 bytes/ } } })
  }
  const interactions = await post('/v1/interactions', { model: 'gi', background: true, input })
  t.match(interactions, { status: 400, json: { error: { message: /262144 bytes/ } } })
  t.same(await charges(), before)
  t.same(await upstream.events('body'), [])
  await upstream.script('gp', plainReply(responseBody('resp_near', 'B'.repeat(100_000))))
  const near = { model: 'gp', input: 'A'.repeat(200_000), background: true } as const
  const { id } = await mine.responses.create(near)
  t.equal((await until(id, 'completed')).output_text.length, 100_000, 'its answer has room')
})

t.test('stopped background calls: failed after a crash without a stored call', async t => {
  const stall = [{ do: 'body' }, { do: 'stall' }] as const
  await upstream.script('gp', stall, stall, stall)
  await upstream.forget()
  const { interactions } = new GoogleGenAI({
    apiKey: await gateway.key(),
    httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
  })
  const { id: conversation } = await mine.conversations.create({})
  const begin = (more: object) =>
    mine.responses.create({ model: 'gp', background: true, input: 'First', ...more })
  const alone = await begin({})
  const inside = await begin({ conversation })
  const queued = { model: 'gp', input: 'First', background: true, stream: false } as const
  const interaction = await interactions.create(queued)
  await eventually(async () => (await upstream.events('body')).length === 3 || undefined)
  // As those have it that an earlier version began.
  await database.write([statement('lose', 'DELETE FROM stored_calls', [])])
  await killWorkers()
  for (const { id } of [alone, inside])
    t.match((await until(id, 'failed')).error, { code: 'server_error', message: /ended before/ })
  t.match(await interactions.get(interaction.id), {
    status: 'failed',
    errors: [{ message: /ended before/ }],
  })
  t.equal((await mine.responses.cancel(alone.id)).status, 'failed', 'it is finished')
  for (const more of [{ previous_response_id: alone.id }, { conversation }]) {
    await upstream.script('cl', plainReply(messageBody('done')))
    await mine.responses.create({ model: 'cl', input: 'Go on', ...more })
  }
  const texts = (await upstream.events('body', 'cl')).map(({ body }) =>
    Buffer.from(body?.bytes ?? []).toString(),
  )
  t.match(texts, [/First.*Go on/, /Go on/])
  await upstream.script('cl', plainReply(messageBody('done')))
  const next = { model: 'cl', input: 'Go on', stream: false } as const
  await interactions.create({ ...next, previous_interaction_id: interaction.id })
  t.match(JSON.stringify((await sentBody('cl')).messages), /First.*Go on/)
})

t.test('background call: an answer that cannot be stored fails, and is not charged', async t => {
  for (const size of [262_000, 400_000]) {
    await upstream.script('gp', plainReply(responseBody('resp_large', 'B'.repeat(size))))
    const { id } = await mine.responses.create({ model: 'gp', input: 'Think', background: true })
    const failed = await until(id, 'failed')
    t.match(failed.error, { message: /size limit/ }, `${size} characters`)
    await eventually(async () => ((await charge(id))?.state === 'open' ? undefined : true))
    t.match(await charge(id), { state: 'released' }, `${size} characters`)
  }
})
