/** Billing of realtime sessions: a hold before the session opens, charges by the usage of each
 *  answer, and a close with an error event when the balance ends. */
import t from 'tap'
import { makeSecret } from '../../../../plugins/credentials/secret.ts'
import { replaceSecret } from '../../../../plugins/credentials/statements.ts'
import { removeBudgetRow, setBudgetRow } from '../../../../plugins/ledger/budgets/rows.ts'
import { assignPlan, cancelPlan, findPlan } from '../../../../plugins/ledger/plans/rows.ts'
import { eventually } from '../../../helpers/eventually.ts'
import {
  type Client,
  openSocket,
  type RefusedUpgrade,
} from '../../../helpers/gateway/web-socket.ts'
import {
  type Customer,
  database,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../../helpers/money/billing-gateway.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, realtime]
plans: { words: { tokens: 200, per: life } }
upstreams: { gp: { url: '${upstream.url}/s/gp/v1' } }
models:
  talk:
    to: gp/there
    context: 100
    output: 50
    price: { input: 0.01, cached: 0.001, output: 0.02, audio_input: 0.1, audio_output: 0.2, image_input: 0.05 }
  quiet: { to: gp/there, free: true }
  scribe: { to: gp/there, context: 100, output: 50, price: { input: 0.01, output: 0.02, audio_input: 0.1, audio_output: 0.2, transcription_input: 0.03, transcription_output: 0.05, transcription_seconds: 0.5 } }
  tiers:
    to: gp/there
    context: 100
    output: 50
    price:
      input: [{ price: 0.02, when: { service_tier: priority } }, { price: 0.01 }]
      output: [{ price: 0.04, when: { service_tier: priority } }, { price: 0.02 }]
  ears: { to: gp/there, context: 100, output: 50, price: { input: 0.01, output: 0.02 } }
routes:
  - { path: 'WS /v1/realtime', name: realtime, auth: key, model: { query: model }, realtime: true, errors: openai }
`
let customer: Customer
t.test('setup: routes and an account', async () => {
  customer = await prepareCustomer(ROUTES)
  await upstream.script('gp', [{ do: 'websocket', manner: 'echo' }])
})
const dial = (model = 'talk') =>
  openSocket(`${gateway.url}/v1/realtime?model=${model}`, [], {
    headers: { authorization: `Bearer ${customer.key}` },
  })
/** Sends events; the upstream echoes them, so the client plays both sides. */
const sendEvents = (client: Client, ...events: object[]) => {
  for (const event of events) client.socket.send(JSON.stringify(event))
}
/** Requests of charges that a test has read. */
const readRequests = new Set<unknown>()
const ownCharges = async () => {
  const sql = `SELECT * FROM charges WHERE account = ${customer.account} ORDER BY opened DESC, request DESC`
  return (await rows(sql)).filter(({ request }) => !readRequests.has(request))
}
const closedCharge = async () => {
  for (;;) {
    const [row] = await ownCharges()
    if (row && row.state !== 'open') return row
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
const balanceOf = async () => {
  const [wallet] = await rows(`SELECT balance FROM wallets WHERE account = ${customer.account}`)
  return Number(wallet?.balance)
}
const passOverCharges = async (): Promise<void> => {
  for (const { request } of await ownCharges()) readRequests.add(request)
}

const ANSWER = {
  type: 'response.done',
  response: {
    id: 'r',
    usage: {
      total_tokens: 60,
      input_tokens: 40,
      output_tokens: 20,
      input_token_details: {
        text_tokens: 25,
        audio_tokens: 10,
        image_tokens: 5,
        cached_tokens: 12,
        cached_tokens_details: { text_tokens: 10, audio_tokens: 2, image_tokens: 0 },
      },
      output_token_details: { text_tokens: 5, audio_tokens: 15 },
    },
  },
}
/** Of 40 input tokens: 10 cached text, 2 cached audio, 8 audio, 5 image, 15 text. */
const USAGE = {
  input: 15,
  cached: 10,
  cached_audio: 2,
  audio_input: 8,
  image_input: 5,
  output: 5,
  audio_output: 15,
}
const usageTimes = (count: number) =>
  Object.fromEntries(Object.entries(USAGE).map(([meter, amount]) => [meter, amount * count]))
/** 0.15 + 0.012 + 0.8 + 0.25 + 0.1 + 3 */
const COST = 4_312_000_000

t.test('realtime: refused without a balance; a free model is served', async t => {
  const refusal = await dial().catch((error: RefusedUpgrade) => error)
  t.match(refusal, { status: 403, body: /insufficient_user_quota/ })
  const client = await dial('quiet')
  sendEvents(client, ANSWER)
  await client.until(1)
  client.socket.close()
  await client.closed
  t.same(await rows(`SELECT * FROM charges WHERE account = ${customer.account}`), [])
})

t.test('realtime: each answer is charged by its kinds of tokens', async t => {
  await customer.credit(100n * UNIT)
  const client = await dial()
  t.match(await rows("SELECT held FROM charges WHERE state = 'open'"), [{ held: 35_600_000_000 }])
  const textEvent = { type: 'response.text.done', text: 'say "response.done"' }
  sendEvents(client, { type: 'session.created' }, ANSWER, textEvent, ANSWER)
  t.same(
    (await client.until(4)).map(each => JSON.parse(each)),
    [{ type: 'session.created' }, ANSWER, textEvent, ANSWER],
  )
  client.socket.close()
  await client.closed
  const charge = await closedCharge()
  t.match(charge, { state: 'settled', amount: 2 * COST, estimated: 0 })
  t.same(JSON.parse(String(charge.usage)), usageTimes(2))
  t.match(await rows(`SELECT balance, reserved FROM wallets WHERE id = ${customer.wallet}`), [
    { balance: 100_000_000_000 - 2 * COST },
  ])
  await passOverCharges()
})

t.test(
  'realtime: a client that disconnects during an answer pays for the received part',
  async t => {
    const client = await dial()
    const delta = { type: 'response.output_audio.delta', delta: 'A'.repeat(6_400) }
    sendEvents(client, ANSWER, delta, { type: 'response.output_text.delta', delta: 'hi' })
    await client.until(3)
    client.socket.terminate()
    const charge = await closedCharge()
    t.match(charge, { state: 'settled', estimated: 1 })
    t.match(JSON.parse(String(charge.usage)), {
      input: 30,
      audio_input: 16,
      output: 6,
      audio_output: 18,
    })
    await passOverCharges()
  },
)

t.test(
  'realtime: an answer without usage is estimated, and invalid JSON passes unchanged',
  async t => {
    const client = await dial()
    sendEvents(client, { type: 'response.text.delta', delta: 'hi' })
    client.socket.send('"response.done"')
    client.socket.send('{"type":"response.done"')
    sendEvents(client, { type: 'response.done', response: { id: 'r', usage: null } })
    await client.until(4)
    client.socket.close()
    await client.closed
    t.match(await closedCharge(), { state: 'settled', estimated: 1, usage: '{"output":1}' })
    await passOverCharges()
  },
)

t.test('realtime: a session without answers costs nothing', async t => {
  const client = await dial()
  sendEvents(client, { type: 'session.update' })
  await client.until(1)
  client.socket.close()
  await client.closed
  t.match(await closedCharge(), { state: 'released' })
  await passOverCharges()
})

t.test('realtime: the session closes with an error event when the balance ends', async t => {
  const client = await dial()
  let answers = 0
  while (client.socket.readyState === client.socket.OPEN && answers < 100) {
    sendEvents(client, ANSWER)
    await client.until(++answers)
  }
  const end = await client.closed
  t.equal(end.code, 1008)
  t.match(JSON.parse(client.received.at(-1) ?? ''), {
    type: 'error',
    event_id: /^event_req_/,
    error: { type: 'insufficient_quota', code: 'insufficient_user_quota' },
  })
  const charge = await closedCharge()
  const answerCount = client.received.length - 1
  t.match(charge, { state: 'settled', amount: answerCount * COST, uncollected: 0 })
  const [wallet] = await rows(`SELECT balance FROM wallets WHERE id = ${customer.wallet}`)
  const balance = Number(wallet?.balance)
  t.ok(balance >= 0 && balance < 35_600_000_000, `${balance} does not cover another answer`)
})

const transcribed = (usage: { readonly type: string; readonly [member: string]: unknown }) => ({
  type: 'conversation.item.input_audio_transcription.completed',
  event_id: 'e',
  item_id: 'i',
  content_index: 0,
  transcript: 'hello there',
  usage,
})
const BY_TOKENS = transcribed({
  type: 'tokens',
  total_tokens: 126,
  input_tokens: 100,
  input_token_details: { text_tokens: 0, audio_tokens: 100 },
  output_tokens: 26,
})
const BY_SECONDS = transcribed({ type: 'duration', seconds: 7.5 })
/** The ends of a session, each a column of its key or its account. */
const ENDS = [
  ['its key was revoked', 'api_keys', 'revoked', 'This API key or token has been revoked'],
  ['its key expired', 'api_keys', 'expires', 'This API key or token has expired'],
  ['its account was suspended', 'accounts', 'suspended', 'This account is suspended'],
] as const
for (const [end, table, column, reason] of ENDS)
  t.test(`realtime: a session ends after ${end}, and what it used is charged`, async t => {
    await customer.credit(300n * UNIT)
    const client = await dial()
    sendEvents(client, ANSWER)
    await client.until(1)
    const owner = table === 'accounts' ? 'id' : 'account'
    const text = `UPDATE ${table} SET ${column} = ? WHERE ${owner} = ?`
    const set = (at: number | null) =>
      database.write([
        { sql: { name: `test: end ${column}`, text }, values: [at, customer.account] },
      ])
    await set(1)
    const sending = setInterval(() => sendEvents(client, { type: 'input_audio_buffer.append' }), 50)
    const closed = await client.closed
    clearInterval(sending)
    await set(null)
    t.same(closed, { code: 1008, reason })
    t.match(await closedCharge(), { state: 'settled' })
    await passOverCharges()
  })

t.test('setup: credit for transcripts', () => customer.credit(300n * UNIT))
for (const [model, event, amount, usage] of [
  ['scribe', BY_TOKENS, 4_300_000_000, { transcription_input: 100, transcription_output: 26 }],
  ['scribe', BY_SECONDS, 3_750_000_000, { transcription_seconds: 7.5 }],
  ['ears', BY_TOKENS, 1_520_000_000, { transcription_input: 100, transcription_output: 26 }],
] as const)
  t.test(
    `realtime: a transcript of the speaker is charged, ${model}, ${event.usage.type}`,
    async t => {
      const client = await dial(model)
      sendEvents(client, event)
      await client.until(1)
      client.socket.close()
      await client.closed
      const charge = await closedCharge()
      t.match(charge, { state: 'settled', amount, estimated: 0, uncollected: 0 })
      t.same(JSON.parse(String(charge.usage)), usage)
      await passOverCharges()
    },
  )
t.test('realtime: a transcript without a price is named', async t => {
  for (const event of [BY_TOKENS, BY_SECONDS]) {
    const client = await dial()
    sendEvents(client, event)
    await client.until(1)
    client.socket.close()
    await client.closed
    t.match(await closedCharge(), { state: 'settled', estimated: 0 })
    await passOverCharges()
  }
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  for (const meter of ['transcription_input', 'transcription_output', 'transcription_seconds'])
    t.match(metrics, new RegExp(`tollgate_unpriced_total\\{model="talk",meter="${meter}"\\} [1-9]`))
})
t.test('realtime: a transcript extends the hold, and ends a session without a balance', async t => {
  const { balance } =
    (await rows(`SELECT balance FROM wallets WHERE id = ${customer.wallet}`))[0] ?? {}
  const client = await dial('scribe')
  const [before] = await rows("SELECT held FROM charges WHERE state = 'open'")
  sendEvents(client, BY_SECONDS)
  await client.until(1)
  for (;;) {
    const [after] = await rows("SELECT held FROM charges WHERE state = 'open'")
    if (Number(after?.held) >= Number(before?.held) + 3_750_000_000) break
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  sendEvents(client, transcribed({ type: 'duration', seconds: Number(balance) / 0.5e9 }))
  await client.closed
  const charge = await closedCharge()
  t.match(charge, { state: 'settled', estimated: 0 })
  const cost = 3_750_000_000n + BigInt(balance as number)
  t.equal(BigInt(charge.amount as number) + BigInt(charge.uncollected as number), cost)
  await passOverCharges()
})
t.test('realtime: a transcript that breaks off is estimated by its events', async t => {
  await customer.credit(100n * UNIT)
  const client = await dial('scribe')
  const delta = { type: 'conversation.item.input_audio_transcription.delta', delta: 'hel' }
  sendEvents(client, delta, delta, ANSWER)
  await client.until(3)
  client.socket.terminate()
  const charge = await closedCharge()
  t.match(JSON.parse(String(charge.usage)), { output: 5, audio_output: 15 })
  await passOverCharges()
})
t.test('realtime: a session that is billed by its duration is charged its last count', async t => {
  await gateway.reload(
    ROUTES.replace(
      '  quiet:',
      '  live: { to: gp/there, context: 100, price: { seconds: 0.1 }, max_calls: { seconds: 60 } }\n  quiet:',
    ),
  )
  const client = await dial('live')
  for (const seconds of [5, 9, 9])
    sendEvents(client, { type: 'session.usage.updated', event_id: 'e', usage: { seconds } })
  await client.until(3)
  client.socket.close()
  await client.closed
  const charge = await closedCharge()
  t.match(charge, { state: 'settled', amount: 900_000_000, estimated: 0 })
  await passOverCharges()
})

const answerAt = (
  service_tier: string | undefined,
  input_tokens: number,
  output_tokens: number,
) => ({
  type: 'response.done',
  response: { id: `r-${input_tokens}`, service_tier, usage: { input_tokens, output_tokens } },
})
t.test('realtime: each response of a session is priced by its own tier', async t => {
  const client = await dial('tiers')
  const session = { type: 'session.created', session: { id: 's', model: 'live-2026' } }
  const answers = [
    answerAt('priority', 10, 4),
    answerAt('default', 20, 2),
    answerAt('priority', 1, 1),
  ]
  sendEvents(client, session, ...answers, answerAt(undefined, 5, 5))
  await client.until(5)
  client.socket.close()
  await client.closed
  const charge = await closedCharge()
  // 11 and 5 tokens at the price of priority, 25 and 7 at the standard.
  t.match(charge, {
    state: 'settled',
    amount: 220_000_000 + 200_000_000 + 250_000_000 + 140_000_000,
  })
  t.same(JSON.parse(String(charge.usage)), { input: 36, output: 12 })
  const lines = JSON.parse(String(charge.lines)) as readonly { readonly quantity: string }[]
  t.same(
    lines.map(({ quantity }) => quantity),
    ['11', '5', '20', '2', '5', '5'],
  )
  t.match(JSON.parse(String(charge.served)), {
    id: 'r-5',
    model: 'live-2026',
    attributes: { service_tier: 'priority, default' },
  })
  await passOverCharges()
})

t.test('realtime: the session closes when a budget in tokens has no more', async t => {
  await customer.credit(300n * UNIT)
  const { account } = customer
  const key = { kind: 'account', owner: account, name: 'words' } as const
  // A session holds 150, and each answer uses 60.
  await database.write(setBudgetRow(key, account, { tokens: 310, per: 'life' }))
  const client = await eventually(async () => {
    const opened = await dial()
    const [open] = await rows("SELECT tokens_held FROM charges WHERE state = 'open'")
    if (Number(open?.tokens_held) === 150) return opened
    opened.socket.close()
    await opened.closed
    await closedCharge()
    return undefined
  })
  for (let answers = 1; answers <= 3; answers++) {
    sendEvents(client, ANSWER)
    await client.until(answers)
  }
  t.match(await client.closed, { code: 1008, reason: /budget "words" .* 0 of 310 tokens/ })
  t.match(await closedCharge(), { state: 'settled', amount: 3 * COST, tokens: 180 })
  t.match(await rows('SELECT used FROM wallets WHERE id < 0 AND used > 0'), [{ used: 180 }])
  await database.write(removeBudgetRow(key))
  await passOverCharges()
})

t.test('realtime: a plan in tokens pays a session until its end, the balance the rest', async t => {
  const { account } = customer
  await database.write(assignPlan({ account, plan: 'words', since: 1, until: undefined }))
  const before = await balanceOf()
  // A session holds 150 tokens of the plan, and each answer uses 60 of its 200.
  const client = await eventually(async () => {
    // A gateway may still have the budget of the test before.
    const opened = await dial().catch((error: RefusedUpgrade) => error.status)
    if (typeof opened === 'number') return undefined
    const [open] = await rows("SELECT plan_tokens FROM charges WHERE state = 'open'")
    if (Number(open?.plan_tokens) === 150) return opened
    opened.socket.close()
    await opened.closed
    await closedCharge()
    return undefined
  })
  for (let answers = 1; answers <= 4; answers++) {
    sendEvents(client, ANSWER)
    await client.until(answers)
  }
  client.socket.close()
  await client.closed
  const charge = await closedCharge()
  const planned = Math.floor((4 * COST * 200) / 240)
  t.match(charge, { amount: 4 * COST, plan_held: planned, plan_tokens: 200, tokens: 240 })
  t.equal(before - (await balanceOf()), 4 * COST - planned)
  const stored = await findPlan(database, account)
  t.match(stored, { used: 200, balance: 0 })
  await database.write(cancelPlan(account, Number(stored?.change)))
  await passOverCharges()
})

t.test('realtime: a session ends with the secret that opened it', async t => {
  await customer.credit(UNIT)
  const [key] = await rows(`SELECT id, digest FROM api_keys WHERE account = ${customer.account}`)
  const old = await dial('quiet')
  sendEvents(old, { type: 'session.update' })
  await old.until(1)
  const secret = makeSecret('key')
  const earlier = { digest: String(key?.digest), until: undefined }
  await database.write(replaceSecret('key', Number(key?.id), earlier, secret, Date.now()))
  const latest = await openSocket(`${gateway.url}/v1/realtime?model=quiet`, [], {
    headers: { authorization: `Bearer ${secret.text}` },
  })
  await eventually(() => {
    if (old.socket.readyState !== old.socket.OPEN) return true
    sendEvents(old, { type: 'response.create' })
    return undefined
  })
  t.match(await old.closed, { code: 1008, reason: /expired/ })
  sendEvents(latest, { type: 'session.update' })
  t.match(await latest.until(1), [/session.update/])
  latest.socket.close()
  await latest.closed
})
