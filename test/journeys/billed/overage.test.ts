/** Streams that cost more than their hold: the hold is extended while the balance lasts, then the
 *  stream is cut and charged. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import {
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat' } }
models:
  words: { to: up, price: { output: 1 } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
`
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
const WORD = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'w' } }] })}\n\n`

t.test(
  'stream: extended to the end of the balance, then cut, every word accounted for',
  async t => {
    const { account, wallet: id, key } = await prepareCustomer(ROUTES, 12n * UNIT)
    // The pause between two pieces is longer than the interval of the usage check.
    const piece = [
      { do: 'send', bytes: WORD.repeat(4) },
      { do: 'wait', ms: 350 },
    ] as const
    await upstream.script('chat', [
      { do: 'send', bytes: HEAD },
      ...Array.from({ length: 12 }, () => piece).flat(),
      { do: 'close' },
    ])
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'words', stream: true, max_tokens: 8, messages: [] }),
    })
    t.equal(response.status, 200)
    const text = await response.text()
    const words = text.split('"w"').length - 1
    t.ok(words >= 12 && words < 48, `${words} words, then the cut`)
    t.match(text, /"code":"insufficient_user_quota"/, 'the error names the reason')
    const { connection } = await upstream.until('request')
    const { bytesWritten: bytesRead } = await upstream.until(
      'close',
      event => event.connection === connection,
    )
    t.ok(bytesRead < HEAD.length + 48 * WORD.length, 'the upstream connection was closed early')
    const [charge] = await rows(
      `SELECT state, amount, uncollected, estimated FROM charges WHERE account = ${account}`,
    )
    const [wallet] = await rows(`SELECT balance FROM wallets WHERE id = ${id}`)
    t.match(charge, { state: 'settled', estimated: 1 })
    const amount = BigInt(charge?.amount as number)
    t.equal(amount, 12n * UNIT, 'the whole balance')
    t.equal(
      amount + BigInt(charge?.uncollected as number),
      BigInt(words) * UNIT,
      'every word is charged or uncollected',
    )
    t.equal(BigInt(wallet?.balance as number), 12n * UNIT - amount)
  },
)

t.test(
  'overage: a plain answer beyond the balance charges the balance and records the rest',
  async t => {
    const { account, wallet: id, key } = await prepareCustomer(ROUTES, 12n * UNIT)
    await upstream.script('chat', [
      plain({
        id: 'x',
        choices: [{ finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 20 },
      }),
    ])
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'x-request-id': 'mine' },
      body: JSON.stringify({ model: 'words', max_tokens: 8, messages: [] }),
    })
    await response.text()
    const [charge] = await rows(
      `SELECT request, state, amount, uncollected FROM charges WHERE account = ${account}`,
    )
    const [amount, uncollected] = [Number(12n * UNIT), Number(8n * UNIT)]
    t.equal(response.headers.get('x-request-id'), 'mine')
    const request = response.headers.get('x-tollgate-request')
    t.same(charge, { request, state: 'settled', amount, uncollected }, 'its receipt can be found')
    t.match(await rows(`SELECT balance, reserved FROM wallets WHERE id = ${id}`), [{ balance: 0 }])
    t.equal(response.headers.get('x-tollgate-charge'), '12', 'what was charged, not what it cost')
    t.equal(response.headers.get('x-tollgate-balance'), '0')
    const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
    t.match(metrics, /^tollgate_uncollected_total\{model="words"\} [1-9]/m)
  },
)

t.test('meter: charges at most twice the hold of a call without hosted tools', async t => {
  const { account, wallet: id, key } = await prepareCustomer(ROUTES, 100n * UNIT)
  await upstream.script('chat', [
    plain({
      id: 'x',
      choices: [{ finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 20 },
    }),
  ])
  const ask = (more: object) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'words', max_tokens: 5, messages: [], ...more }),
    })
  const response = await ask({})
  await response.text()
  t.equal(response.headers.get('x-tollgate-charge'), '10')
  t.equal(response.headers.get('x-tollgate-balance'), '90')
  const tools = [{ type: 'function', function: { name: 'look_up', parameters: {} } }]
  t.equal((await ask({ tools })).headers.get('x-tollgate-charge'), '10')
  // No option of the request bounds what upstreams run by themselves.
  const hostedTools = [{ type: 'mcp', server_label: 'x' }]
  t.equal((await ask({ tools: hostedTools })).headers.get('x-tollgate-charge'), '20')
  t.equal((await ask({ max_tokens: 0 })).status, 403, 'a limit of 0 counts as no limit')
  t.match(
    await rows(
      `SELECT amount, uncollected, estimated FROM charges WHERE account = ${account} ORDER BY opened, rowid`,
    ),
    [
      { amount: Number(10n * UNIT), uncollected: Number(10n * UNIT), estimated: 0 },
      { amount: Number(10n * UNIT), uncollected: Number(10n * UNIT), estimated: 0 },
      { amount: Number(20n * UNIT), uncollected: 0, estimated: 0 },
    ],
  )
  t.match(await rows(`SELECT balance FROM wallets WHERE id = ${id}`), [
    { balance: Number(60n * UNIT) },
  ])
})

t.test('meter: charges at most twice the hold of a long stream', async t => {
  const { account, key } = await prepareCustomer(ROUTES, 100n * UNIT)
  const piece = [
    { do: 'send', bytes: WORD.repeat(4) },
    { do: 'wait', ms: 300 },
  ] as const
  await upstream.script('chat', [
    { do: 'send', bytes: HEAD },
    ...Array.from({ length: 6 }, () => piece).flat(),
    { do: 'send', bytes: 'data: [DONE]\n\n' },
    { do: 'close' },
  ])
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'words', stream: true, max_tokens: 2, messages: [] }),
  })
  t.match(await response.text(), /\[DONE\]/, 'not cut, because the balance suffices')
  const [charge] = await rows(`SELECT amount, uncollected FROM charges WHERE account = ${account}`)
  t.equal(charge?.amount, Number(4n * UNIT))
  t.ok(Number(charge?.uncollected) > 0)
})
