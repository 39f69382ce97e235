/** Events that are kept back before the first content, in the formats of four clients: their bound,
 *  a client that leaves meanwhile, and several keys of a target before the next target. Only
 *  delivered events are charged, and the request no longer counts in its limit. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { BEGINNINGS } from '../../helpers/formats/beginnings.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  chargeOf,
  gateway,
  prepareCustomer,
  rows,
  units,
} from '../../helpers/money/billing-gateway.ts'

type Behaviour = (response: ServerResponse) => void | Promise<void>
/** The reply of the upstream to a request, by the target and its key. */
let behaviours: Record<string, Behaviour> = {}
let requests: string[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const place = `${request.url?.split('/')[1]} ${keyOf(request)}`
  requests.push(place)
  await behaviours[place]?.(response)
})
const keyOf = ({ headers }: IncomingMessage): string =>
  String(headers.authorization).replace('Bearer ', '')

const CLIENTS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini'] as const
type Client = (typeof CLIENTS)[number]
const HASTY = 'timeout: { first_content: 200ms }'
const upstreamOf = (name: string, format: string, key: string, more = ''): string =>
  `  ${name}-${format}: { url: '${url}/${name}', key: ${key}, health: { failures: 1000000 }, formats: [${format}], ${more} }\n`
const target = (name: string, format: string): string => `${name}-${format}/m`
const ROUTES = `
pipeline: [errors, auth, model, limit, meter, translate]
upstreams:
${CLIENTS.map(each => upstreamOf('a', each, 'one') + upstreamOf('keys', each, '[one, two]', HASTY) + upstreamOf('b', each, 'one')).join('')}
models:
${CLIENTS.map(each => `  both-${each}: { to: [${target('a', each)}, ${target('b', each)}], price: { calls: 5 } }\n  keys-${each}: { to: [${target('keys', each)}, ${target('b', each)}], price: { calls: 5 } }\n`).join('')}
routes:
  - { auth: key, limit: { concurrency: 1 }, path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { auth: key, limit: { concurrency: 1 }, path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { auth: key, limit: { concurrency: 1 }, path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { auth: key, limit: { concurrency: 1 }, path: 'POST /v1/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 2_000_000_000_000n)
})

const say = 'Where?'
const BODIES: Readonly<Record<Client, (model: string) => readonly [string, object]>> = {
  'openai-chat': model => [
    '/v1/chat/completions',
    { model, stream: true, messages: [{ role: 'user', content: say }] },
  ],
  'openai-responses': model => ['/v1/responses', { model, stream: true, input: say }],
  'anthropic-messages': model => [
    '/v1/messages',
    { model, stream: true, max_tokens: 99, messages: [{ role: 'user', content: say }] },
  ],
  'google-gemini': model => [
    `/v1/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: say }] }] },
  ],
}
const post = (client: Client, model: string, signal?: AbortSignal) => {
  const [path, body] = BODIES[client](model)
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}
/** Asks again until the place of the request before is free: another worker may have had it. */
const ask = (client: Client, model: string) =>
  eventually(async () => {
    const response = await post(client, model)
    const id = response.headers.get('x-request-id') ?? ''
    const text = await response.text()
    return text.includes('at once') ? undefined : { status: response.status, id, text }
  })
const streaming =
  (type: string, events: readonly Uint8Array[]): Behaviour =>
  response =>
    void response.writeHead(200, { 'content-type': type }).end(Buffer.concat(events))
/** Sends these events and then nothing until the gateway leaves. */
const silent =
  (type: string, events: readonly Uint8Array[]): Behaviour =>
  async response => {
    response.writeHead(200, { 'content-type': type })
    response.flushHeaders()
    for (const event of events) response.write(event)
    await once(response, 'close')
  }
/** The last charges of the customer, oldest first, once none is open. */
const chargesSince = async (count: number) =>
  eventually(async () => {
    const charges = await rows(
      `SELECT state, amount FROM charges WHERE account = ${customer.account} ORDER BY opened`,
    )
    return charges.some(({ state }) => state === 'open') ? undefined : charges.slice(count)
  })
const chargedOnce = async (t: Test, id: string) =>
  t.match(
    { ...(await chargeOf(id)), amount: units((await chargeOf(id)).amount) },
    {
      state: 'settled',
      amount: 5,
    },
  )

/** A hold that ends before it is written leaves no row. */
const isPaid = ({ amount }: { readonly [column: string]: unknown }): boolean => Number(amount) > 0

const LIMIT = 64 * 1024
const comments = (bytes: number): Uint8Array =>
  Buffer.from(`: ${'x'.repeat(61)}\n\n`.repeat(Math.floor(bytes / 65)))

/** Each client with its own format, and translated to another one. */
const PAIRS = CLIENTS.flatMap((client, at) => [
  [client, client] as const,
  [client, CLIENTS[(at + 1) % CLIENTS.length] ?? client] as const,
])
for (const [client, format] of PAIRS) {
  const { type, preamble, errors, answer } = BEGINNINGS[format] as (typeof BEGINNINGS)[string]
  const start = Buffer.concat(preamble)
  const error = errors[0]?.[0] as Uint8Array
  // The first error may report a limit, after which the key is not used for a while.
  const failure = errors.find(([, status]) => status !== 429)?.[0] as Uint8Array
  const about = `${format} for ${client}`

  t.test(`kept events of ${about}: within 64 KiB an error leads to the next target`, async t => {
    requests = []
    const filling = comments(LIMIT - start.length - error.length - 100)
    behaviours = {
      'a one': streaming(type, [start, filling, error]),
      'b one': streaming(type, answer),
    }
    const { status, text, id } = await ask(client, `both-${format}`)
    t.equal(status, 200, text)
    t.match(text, /Rome/)
    t.notMatch(text, /xxxx/, 'nothing of the first target')
    t.same(requests, ['a one', 'b one'])
    await chargedOnce(t, id)
  })

  t.test(`kept events of ${about}: beyond 64 KiB the target is chosen`, async t => {
    requests = []
    behaviours = {
      'a one': streaming(type, [comments(LIMIT + 1_000), ...answer]),
      'b one': streaming(type, answer),
    }
    const whole = await ask(client, `both-${format}`)
    t.match(whole, { status: 200, text: /Rome/ })
    t.same(requests, ['a one'])
    await chargedOnce(t, whole.id)
    // A translated stream has no comments: nothing is sent before the first event.
    if (client !== format) return
    const received = Promise.withResolvers<void>()
    behaviours['a one'] = async response => {
      response.writeHead(200, { 'content-type': type })
      response.write(Buffer.concat([start, comments(LIMIT + 1_000)]))
      await received.promise
      response.end(error)
    }
    const count = (await chargesSince(0)).length
    const response = await post(client, `both-${format}`)
    received.resolve()
    t.notMatch(await response.text(), /Rome/)
    t.notOk(requests.includes('b one'), 'no other target is asked')
    const charges = await chargesSince(count)
    t.same(charges.filter(isPaid), [], 'nothing was delivered')
  })

  t.test(`kept events of ${about}: a client that leaves ends the attempt`, async t => {
    requests = []
    const abort = new AbortController()
    const closed = Promise.withResolvers<void>()
    const count = (await chargesSince(0)).length
    behaviours = {
      'a one': async response => {
        response.once('close', closed.resolve)
        response.writeHead(200, { 'content-type': type })
        for (const event of preamble) response.write(event)
        abort.abort()
      },
      'b one': streaming(type, answer),
    }
    await t.rejects(post(client, `both-${format}`, abort.signal))
    await closed.promise
    t.same(requests, ['a one'])
    const charges = await chargesSince(count)
    t.same(charges.filter(isPaid), [], 'nothing was delivered')
    behaviours['a one'] = streaming(type, answer)
    const next = await ask(client, `both-${format}`)
    t.match(next, { status: 200, text: /Rome/ }, 'its place is free again')
  })

  t.test(`kept events of ${about}: silent keys lead to the next target`, async t => {
    for (const second of [silent(type, preamble), streaming(type, [...preamble, failure])]) {
      requests = []
      behaviours = {
        'keys one': silent(type, preamble),
        'keys two': second,
        'b one': streaming(type, answer),
      }
      // The keys take turns: the first of a request may be either.
      const { status, text, id } = await ask(client, `keys-${format}`)
      t.equal(status, 200, text)
      t.match(text, /Rome/)
      t.same([...requests.slice(0, 2)].sort(), ['keys one', 'keys two'])
      t.equal(requests[2], 'b one')
      t.equal(requests.length, 3)
      await chargedOnce(t, id)
    }
  })
}
