/** `/v1/responses` over a WebSocket: each `response.create` is served and billed like a POST. */
import OpenAI from 'openai'
import type { ResponsesServerEvent } from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import t, { type Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import {
  addKey,
  createAccount,
  revoke,
  suspendAccount,
} from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { responseBody, streamedReply } from '../../helpers/gateway/stored-responses.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { type Client, openSocket, type RefusedUpgrade } from '../../helpers/gateway/web-socket.ts'
import { workersOf } from '../../helpers/process-tree.ts'

const upstream = await startUpstream()
const ROUTES = `
pipeline: [errors, auth, validate, model, limit, idempotency, responses, meter, translate]
upstreams:
  gp: { url: '${upstream.url}/s/gp', formats: [openai-responses] }
  cl: { url: '${upstream.url}/s/cl', formats: [anthropic-messages] }
models:
  gp: { to: gp/gpt, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
  cl: { to: cl/claude, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
routes:
  - { path: POST /v1/responses, name: responses, model: body, idempotency: true, responses: create, translate: openai-responses, errors: openai, hangup: { drain: 60s, bytes: 1MiB } }
  - { path: WS /v1/responses, name: responses-socket, responses: socket, errors: openai, limit: { concurrency: 8 }, websocket: { payload: 64KiB } }
  - { path: WS /alone, responses: socket, errors: openai }
`
const options = { routes: ROUTES, settings: '' }
const gateway = await startGateway(options)
const database = await openDatabase({
  url: 'sqlite:',
  data: gateway.data,
  writeTimeout: 60_000,
})
t.teardown(async () => {
  await database.close()
  await Promise.all([gateway.stop(), upstream.stop()])
})
t.beforeEach(() => upstream.forget())
const rows = (text: string) => database.read({ name: `test: ${text}`, text }, [])

let accounts = 0
/** A funded account with a key of its own. */
const newCustomer = async () => {
  const now = Date.now()
  const name = `own-${++accounts}`
  const account = Number(
    (await database.write(createAccount({ name, role: 'customer' }, now))).at(-1)?.[0]?.id,
  )
  const secret = makeSecret('key')
  const added = await database.write(addKey({ account, name: 'test', secret }, now))
  const wallet = walletOf.account(account)
  const credit = { account, kind: 'credit', amount: 10n ** 12n, note: 'test', at: now } as const
  await database.write([openWallet(wallet, 0n), addCredit(credit)])
  return { account, wallet, key: secret.text, keyId: Number(added.at(-1)?.[0]?.id) }
}
type Customer = Awaited<ReturnType<typeof newCustomer>>
const dial = ({ key }: Pick<Customer, 'key'>) =>
  openSocket(`${gateway.url}/v1/responses`, [], { headers: { authorization: `Bearer ${key}` } })
const create = (client: Client, more: object = {}) =>
  client.socket.send(JSON.stringify({ type: 'response.create', model: 'gp', input: 'hi', ...more }))
type Event = ResponsesServerEvent & { readonly [member: string]: unknown }
const isLast = ({ type }: Event) =>
  ['response.completed', 'response.failed', 'response.incomplete', 'error'].includes(type)
const parsed = (client: Client) => client.received.map(text => JSON.parse(text) as Event)
/** The events so far, once so many responses or errors have ended. */
const untilEnds = async (client: Client, ends = 1): Promise<readonly Event[]> => {
  while (parsed(client).filter(isLast).length < ends) {
    const before = client.received.length
    await client.until(before + 1)
    if (client.received.length === before) throw new Error('the socket closed')
  }
  return parsed(client)
}
const deltas = (id: string) => [
  { type: 'response.created', response: { ...responseBody(id, ''), status: 'in_progress' } },
  { type: 'response.output_text.delta', item_id: 'm', delta: 'Hello ' },
  { type: 'response.output_text.delta', item_id: 'm', delta: 'you' },
]
const completed = (id: string) => ({
  type: 'response.completed',
  response: responseBody(id, 'Hello you'),
})
const answer = (id: string) => streamedReply(...deltas(id), completed(id))
const eventText = (event: { readonly type: string }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
/** Sends the beginning, and the end once the gate is open. */
const gated = (id: string, gate: string) => {
  const [head, ...rest] = streamedReply(...deltas(id))
  return [
    head,
    rest[0],
    { do: 'gate', name: gate },
    { do: 'send', bytes: eventText(completed(id)) },
    { do: 'close' },
  ] as Parameters<typeof upstream.script>[1]
}
const chargesOf = ({ account }: Pick<Customer, 'account'>) =>
  rows(
    `SELECT request, state, amount, usage FROM charges WHERE account = ${account} ORDER BY opened`,
  )
const closedCharges = async (customer: Customer, count: number) => {
  for (;;) {
    const all = await chargesOf(customer)
    if (all.length >= count && all.every(({ state }) => state !== 'open')) return all
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
/** The request lines of these requests, in their order. */
const linesOf = async (ids: readonly unknown[]) => {
  for (;;) {
    const all = gateway
      .output()
      .split('\n')
      .filter(line => line.includes('"msg":"request"'))
      .map(line => JSON.parse(line) as Readonly<Record<string, unknown>>)
    const lines = ids.flatMap(id => all.filter(line => line.id === id))
    if (lines.length >= ids.length) return lines
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
const lastBody = async (script: string) => {
  const { body } = (await upstream.events('body', script)).at(-1) ?? {}
  return JSON.parse(Buffer.from(body?.bytes ?? []).toString() || 'null')
}
const closeOf = async (t: Test, client: Client) => {
  t.teardown(() => client.socket.terminate())
  return client
}

t.test('responses socket: the official client streams, and pays what a POST costs', async t => {
  const customer = await newCustomer()
  await upstream.script('gp', answer('resp_1'))
  await upstream.script(
    'cl',
    streamedReply(
      ...([
        {
          type: 'message_start',
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model: 'claude',
            content: [],
            usage: { input_tokens: 20, output_tokens: 1 },
          },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Bonjour' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
      ] as { type: string }[]),
    ),
  )
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: customer.key, maxRetries: 0 })
  const socket = new ResponsesWS(openai)
  const ends: ResponsesServerEvent[] = []
  const types: string[] = []
  const done = new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('event', event => types.push(event.type))
    socket.on('response.completed', event => {
      ends.push(event)
      if (ends.length === 2) resolve()
      else socket.send({ type: 'response.create', model: 'cl', input: 'hi', store: false })
    })
  })
  socket.send({ type: 'response.create', model: 'gp', input: 'hi' })
  await done
  socket.close()
  t.match(ends, [
    { response: { id: 'resp_1', output: [{ content: [{ text: 'Hello you' }] }] } },
    { response: { output: [{ content: [{ text: 'Bonjour' }] }] } },
  ])
  t.same(types.slice(0, 4), [
    'response.created',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.completed',
  ])
  for (const model of ['gp', 'cl'])
    for await (const _ of await openai.responses.create({ model, input: 'hi', stream: true }));
  const charges = await closedCharges(customer, 4)
  t.same(
    charges.slice(0, 2).map(({ amount, usage, state }) => ({ amount, usage, state })),
    charges.slice(2).map(({ amount, usage, state }) => ({ amount, usage, state })),
    'over the socket and by POST',
  )
  t.match(charges, [{ state: 'settled', amount: 15_000_000 }, { amount: 25_000_000 }, {}, {}])
  const ids = charges.map(({ request }) => request)
  t.equal(new Set(ids).size, 4)
  const facts = ({
    route,
    method,
    path,
    status,
    end,
    attempts,
    target,
  }: Record<string, unknown>) => ({ route, method, path, status, end, attempts, target })
  const lines = (await linesOf(ids)).map(facts)
  t.match(lines[0], { route: 'responses', method: 'POST', path: '/v1/responses', status: 200 })
  t.same(lines.slice(0, 2), lines.slice(2), 'their request lines')
})

t.test(
  'responses socket: the first event has the headers, and the stored response is readable',
  async t => {
    const customer = await newCustomer()
    await upstream.script('gp', answer('resp_2'))
    const client = await closeOf(t, await dial(customer))
    create(client)
    const [first, second] = await untilEnds(client)
    const { headers } = first as unknown as { headers: Record<string, string> }
    const [charge] = await closedCharges(customer, 1)
    t.equal(headers['x-request-id'], charge?.request)
    t.notOk(second && 'headers' in second)
    t.same(
      await rows(`SELECT id, previous FROM stored_responses WHERE account = ${customer.account}`),
      [{ id: 'resp_2', previous: null }],
    )
    create(client, { input: 'more', previous_response_id: 'resp_2' })
    await untilEnds(client, 2)
    t.match((await lastBody('gp')).input, [
      { content: 'hi' },
      { content: 'Hello you' },
      { content: 'more' },
    ])
  },
)

t.test(
  'responses socket: continues responses that are not stored, and warm-ups, on its connection',
  async t => {
    const customer = await newCustomer()
    await upstream.script('gp', answer('resp_a'), answer('resp_b'), answer('resp_c'))
    const client = await closeOf(t, await dial(customer))
    create(client, { generate: false, store: false, input: 'one' })
    const warm = (await untilEnds(client)).at(-1)
    t.match(warm, {
      type: 'response.completed',
      response: { output: [], usage: { total_tokens: 0 } },
    })
    t.same(await upstream.events('request'), [], 'a warm-up calls no upstream')
    const warmId = (warm as unknown as { response: { id: string } }).response.id
    create(client, { store: false, input: 'two', previous_response_id: warmId })
    await untilEnds(client, 2)
    create(client, { store: false, input: 'three', previous_response_id: 'resp_a' })
    await untilEnds(client, 3)
    t.match((await lastBody('gp')).input, [
      { content: 'one' },
      { content: 'two' },
      { content: [{ text: 'Hello you' }] },
      { content: 'three' },
    ])
    t.same(await rows(`SELECT id FROM stored_responses WHERE account = ${customer.account}`), [])
    t.equal((await closedCharges(customer, 2)).length, 2)
    // A response of another connection, and one that was replaced, are unknown.
    const other = await closeOf(t, await dial(customer))
    create(other, { store: false, previous_response_id: 'resp_b' })
    create(client, { store: false, previous_response_id: 'resp_a' })
    const refusal = {
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    }
    t.match((await untilEnds(other)).at(-1), refusal)
    t.match((await untilEnds(client, 4)).at(-1), refusal)
  },
)

t.test('responses socket: one response at a time, and streams side by side', async t => {
  const customer = await newCustomer()
  await upstream.script('gp', gated('resp_slow', 'slow'), answer('resp_fast'), answer('resp_next'))
  const client = await closeOf(t, await dial(customer))
  create(client, { stream_id: 'a' })
  await client.until(3)
  create(client, { stream_id: 'a', input: 'second' })
  create(client, { stream_id: 'b', input: 'beside' })
  const beside = await untilEnds(client)
  t.match(beside.at(-1), {
    type: 'response.completed',
    stream_id: 'b',
    response: { id: 'resp_fast' },
  })
  t.equal((await upstream.events('request', 'gp')).length, 2, 'the second of a stream waits')
  await upstream.open('slow')
  const all = await untilEnds(client, 3)
  t.match(all.filter(isLast).slice(1), [
    { stream_id: 'a', response: { id: 'resp_slow' } },
    { stream_id: 'a', response: { id: 'resp_next' } },
  ])
  for (let count = 0; count < 33; count++) create(client, { stream_id: `s${count}`, model: 'none' })
  const errors = (await untilEnds(client, 36)).slice(all.length)
  t.equal(
    errors.filter(
      ({ error }) => (error as { code?: string }).code === 'websocket_stream_limit_reached',
    ).length,
    3,
  )
})

t.test(
  'responses socket: invalid frames and failing responses are error events, and the socket stays open',
  async t => {
    const customer = await newCustomer()
    const [head, beginning] = streamedReply(...deltas('resp_x'))
    await upstream.script(
      'gp',
      [
        { do: 'body' },
        {
          do: 'send',
          bytes:
            'HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 74\r\n\r\n{"error":{"message":"too hot","type":"invalid_request_error","code":null}}',
        },
      ],
      [head, beginning, { do: 'reset' }] as never,
      streamedReply(...deltas('resp_y')),
      answer('resp_z'),
    )
    const client = await closeOf(t, await dial(customer))
    const expected: object[] = []
    const frame = async (send: () => void, error: object) => {
      send()
      expected.push({ type: 'error', ...error })
      t.match((await untilEnds(client, expected.length)).filter(isLast), expected)
    }
    const { socket } = client
    await frame(() => socket.send('{'), { status: 400, error: { type: 'invalid_request_error' } })
    await frame(() => socket.send('[]'), { status: 400 })
    await frame(() => socket.send(Buffer.from('{"type":"response.create"}')), { status: 400 })
    await frame(() => socket.send('{"type":"response.cancel"}'), {
      status: 400,
      error: { param: 'type' },
    })
    await frame(() => create(client, { model: 'none' }), {
      status: 404,
      error: { code: 'model_not_found' },
    })
    await frame(() => create(client, { background: true }), {
      status: 400,
      error: { param: 'stream' },
    })
    await frame(() => create(client), { status: 400, error: { message: /too hot/ } })
    await frame(() => create(client), { code: /upstream/ })
    await frame(() => create(client), { code: /upstream/ })
    socket.send(
      JSON.stringify({ type: 'response.steer', previous_response_id: 'resp_x', input: 'x' }),
    )
    create(client)
    const events = await untilEnds(client, expected.length + 1)
    t.match(events.at(-1), { type: 'response.completed', response: { id: 'resp_z' } })
    t.match(
      events.find(({ type }) => type === 'response.steer.failed'),
      { error: { code: 'steering_not_supported' } },
    )
    const large = await closeOf(t, await dial(customer))
    create(large, { input: 'x'.repeat(80_000) })
    t.match(await large.closed, { code: 1009 })
    const alone = await openSocket(`${gateway.url}/alone`, [], {
      headers: { authorization: `Bearer ${customer.key}` },
    }).catch((error: RefusedUpgrade) => error)
    t.match(alone, { status: 500 })
  },
)

t.test(
  'responses socket: authenticates at the upgrade, again at each event, and limits connections',
  async t => {
    t.match(await dial({ key: 'sk-none' }).catch((error: RefusedUpgrade) => error), { status: 401 })
    const customer = await newCustomer()
    await upstream.script('gp', answer('resp_k'))
    const protocol = `openai-insecure-api-key.${customer.key}`
    const browser = await closeOf(
      t,
      await openSocket(`${gateway.url}/v1/responses`, ['responses', protocol]),
    )
    t.equal(browser.socket.protocol, 'responses')
    create(browser)
    t.match((await untilEnds(browser)).at(-1), { type: 'response.completed' })
    await database.write(suspendAccount(customer.account, Date.now()))
    const errorsOf = async (status: number) => {
      for (let ends = 2; ; ends++) {
        create(browser)
        const last = (await untilEnds(browser, ends)).at(-1)
        if (last?.type === 'error') return t.equal(last.status, status)
      }
    }
    await errorsOf(403)
    await database.write(suspendAccount(customer.account, null))
    const client = await closeOf(t, await dial(await newCustomer()))
    create(client)
    t.match((await untilEnds(client)).at(-1), { type: 'response.completed' })

    const many = await newCustomer()
    const open = await Promise.all(Array.from({ length: 8 }, () => dial(many)))
    t.match(await dial(many).catch((error: RefusedUpgrade) => error), { status: 429 })
    await database.write(revoke('key', many.keyId, Date.now()))
    const [first] = open
    if (!first) return
    for (let ends = 1; ; ends++) {
      create(first)
      const last = (await untilEnds(first, ends)).at(-1)
      if (last?.type !== 'error') continue
      t.match(last, { status: 401 })
      break
    }
    for (const { socket } of open) socket.terminate()
  },
)

t.test('responses socket: a client that leaves is handled by the policy of the route', async t => {
  const customer = await newCustomer()
  await upstream.script('gp', gated('resp_l', 'left'))
  const client = await dial(customer)
  create(client)
  await client.until(3)
  client.socket.close()
  await client.closed
  t.match(await chargesOf(customer), [{ state: 'open' }])
  await upstream.open('left')
  // `hangup: drain` reads on to the usage of the upstream.
  t.match(await closedCharges(customer, 1), [{ state: 'settled', amount: 15_000_000 }])
  const [charge] = await chargesOf(customer)
  t.match(await linesOf([charge?.request]), [{ end: 'hangup', status: 499 }])
})

t.test('responses socket: books balance after the worker of a response was killed', async t => {
  const customer = await newCustomer()
  await upstream.script('gp', gated('resp_d', 'dead'))
  const client = await dial(customer)
  create(client)
  await client.until(3)
  const workers = workersOf(gateway.pid)
  for (const pid of workers) process.kill(pid, 'SIGKILL')
  t.match(await client.closed, { code: 1006 })
  const [charge] = await closedCharges(customer, 1)
  const walletRow = async () =>
    (await rows(`SELECT balance, reserved FROM wallets WHERE id = ${customer.wallet}`))[0]
  // The lease of the dead worker is given back as well.
  while (Number((await walletRow())?.reserved) > 0)
    await new Promise(resolve => setTimeout(resolve, 50))
  t.equal(Number((await walletRow())?.balance) + Number(charge?.amount), 1e12)
  await upstream.open('dead')
})

t.test(
  'responses socket: a drain ends it after its response, and so does its lifetime',
  async t => {
    options.settings = 'responses: { socket: 1s }'
    await gateway.reload(ROUTES)
    const customer = await newCustomer()
    await upstream.script(
      'gp',
      gated('resp_e', 'expired'),
      answer('resp_f'),
      gated('resp_g', 'drained'),
    )
    const [idle, busy] = [await dial(customer), await dial(customer)]
    create(busy)
    const limit = {
      type: 'error',
      status: 400,
      error: { code: 'websocket_connection_limit_reached' },
    }
    t.match(await idle.closed, { code: 1001 })
    t.match(parsed(idle), [limit])
    create(busy, { input: 'late' })
    t.match((await untilEnds(busy)).at(-1), limit, 'no other response begins')
    await upstream.open('expired')
    t.match(await busy.closed, { code: 1001 })
    t.match(parsed(busy).slice(-2), [
      { type: 'response.completed', response: { id: 'resp_e' } },
      limit,
    ])

    options.settings = ''
    await gateway.reload(ROUTES)
    const [quiet, last] = [await dial(customer), await dial(customer)]
    create(last)
    await untilEnds(last)
    create(last)
    await last.until(last.received.length + 3)
    process.kill(gateway.pid, 'SIGTERM')
    t.match(await quiet.closed, { code: 1001, reason: /shutting down/ })
    await upstream.open('drained')
    t.match(await last.closed, { code: 1001 })
    t.match(parsed(last).at(-1), { type: 'response.completed', response: { id: 'resp_g' } })
  },
)
