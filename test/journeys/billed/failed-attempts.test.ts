/** Attempts that fail with status 200: the customer pays for the answer of the next target once,
 *  and nothing where no target is left. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { BEGINNINGS } from '../../helpers/formats/beginnings.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'

type Behaviour = (response: ServerResponse) => void
let targets: Record<string, Behaviour> = {}
let requests: string[] = []
const url = await startHttpUpstream(t, async (request, response) => {
  for await (const _ of request);
  const target = request.url?.split('/')[1] ?? ''
  requests.push(target)
  targets[target]?.(response)
})
const FORMATS = Object.keys(BEGINNINGS)
const upstream = (name: string, format: string): string =>
  `  ${name}-${format}: { url: '${url}/${name}', key: k, health: { failures: 1000000 }, formats: [${format}] }\n`
const price = 'price: { input: 1 / 1k, output: 2 / 1k, calls: 5 }, output: 100'
const ROUTES = `
pipeline: [errors, auth, model, idempotency, meter, translate]
upstreams:
${FORMATS.map(format => upstream('a', format) + upstream('b', format)).join('')}
models:
${FORMATS.map(each => `  both-${each}: { to: [a-${each}/m, b-${each}/m], ${price} }\n  alone-${each}: { to: a-${each}/m, ${price} }\n`).join('')}
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, idempotency: { largest: 1MiB }, translate: openai-chat, errors: openai }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic }
`
const CREDIT = 2_000_000_000_000n
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, CREDIT)
})
t.beforeEach(() => {
  requests = []
})

const ask = async (path: string, model: string, stream: boolean, idempotencyKey?: string) => {
  const response = await postTo(
    gateway.url + path,
    {
      model,
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Where?' }],
    },
    { ...bearer(customer.key), ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) },
  )
  return { status: response.status, text: await response.text() }
}
const streaming =
  (type: string, events: readonly Uint8Array[], last?: Uint8Array): Behaviour =>
  response => {
    response.writeHead(200, { 'content-type': type })
    for (const event of events) response.write(event)
    // The error arrives after its beginning has passed.
    setTimeout(() => response.end(last), last ? 20 : 0)
  }
const plain =
  (body: unknown): Behaviour =>
  response =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Nanos of the settled charges since the last call. */
let seenCharges = 0
const newCharges = async (): Promise<readonly bigint[]> => {
  const all = await rows(
    `SELECT amount, state FROM charges WHERE account = ${customer.account} AND amount > 0 ORDER BY opened`,
  )
  const fresh = all.slice(seenCharges)
  seenCharges = all.length
  return fresh.map(({ amount }) => BigInt(Number(amount)))
}
const isWhole = (spent: bigint): Promise<unknown> =>
  eventually(async () => {
    const [open] = await rows(
      `SELECT count(*) AS n FROM charges WHERE account = ${customer.account} AND state = 'open'`,
    )
    const [wallet] = await rows(
      `SELECT balance, reserved FROM wallets WHERE id = ${customer.wallet}`,
    )
    return Number(open?.n) === 0 && BigInt(Number(wallet?.balance)) === CREDIT - spent
  })
let spent = 0n
for (const [format, { type, preamble, errors, answer, failures, plain: body }] of Object.entries(
  BEGINNINGS,
))
  for (const path of ['/v1/chat/completions', '/v1/messages'])
    for (const stream of [false, true])
      t.test(`failed attempt of ${format} to ${path}, stream: ${stream}: no charge`, async t => {
        const fails: readonly Behaviour[] = stream
          ? [
              ...errors.map(([event]) => streaming(type, preamble, event)),
              streaming(type, preamble),
            ]
          : failures.map(([failure]) => plain(failure))
        const b = stream ? streaming(type, answer) : plain(body)
        for (const a of fails) {
          targets = { a, b }
          await ask(path, `alone-${format}`, stream)
          t.same(await newCharges(), [], 'of the last target')
          requests = []
          t.match(await ask(path, `both-${format}`, stream), { status: 200, text: /Rome/ })
          t.same(requests, ['a', 'b'])
          const charges = await newCharges()
          t.equal(charges.length, 1, 'one charge, of the target that answered')
          spent += charges[0] ?? 0n
        }
        await isWhole(spent)
      })

t.test('failed attempts: an Idempotency-Key keeps no failure', async t => {
  const {
    type,
    preamble,
    errors,
    answer,
    failures,
    plain: body,
  } = BEGINNINGS['openai-chat'] as (typeof BEGINNINGS)[string]
  for (const stream of [false, true]) {
    const key = `key-${stream}`
    targets = { a: stream ? streaming(type, preamble, errors[0]?.[0]) : plain(failures[0]?.[0]) }
    await ask('/v1/chat/completions', 'alone-openai-chat', stream, key)
    targets = { a: stream ? streaming(type, answer) : plain(body) }
    const again = await ask('/v1/chat/completions', 'alone-openai-chat', stream, key)
    t.match(again, { status: 200, text: /Rome/ })
    t.equal((await newCharges()).length, 1)
  }
})

const event = (fields: object): Uint8Array => Buffer.from(`data: ${JSON.stringify(fields)}\n\n`)
t.test('answers without choices: none is charged, counted or not', async t => {
  const counted = { id: 'c', choices: [], usage: { prompt_tokens: 3, completion_tokens: 5 } }
  const uncounted = { ...counted, usage: { prompt_tokens: 3, completion_tokens: 0 } }
  const failure = { error: { message: 'later', code: 'server_error' } }
  const done = Buffer.from('data: [DONE]\n\n')
  const sse = 'text/event-stream'
  for (const path of ['/v1/chat/completions', '/v1/messages'])
    for (const [stream, a] of [
      [false, plain(counted)],
      [true, streaming(sse, [event(counted), done])],
      [false, plain(uncounted)],
      [true, streaming(sse, [event(uncounted), done])],
      [false, plain({ ...counted, ...failure })],
      [true, streaming(sse, [event(failure), event(counted), done])],
    ] as const) {
      targets = { a }
      await ask(path, 'alone-openai-chat', stream)
      t.same(await newCharges(), [], `${path}, stream: ${stream}`)
    }
})
