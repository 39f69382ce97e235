/** A stream that costs more than was held for it: more is held while the account has any, then it is cut, and paid for. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { begin, gateway, rows, UNIT, upstream } from './stand.ts'

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

t.test('an upstream that writes more than it was asked for', async t => {
  const { account, wallet: id, key } = await begin(ROUTES, 12n * UNIT)
  // Between two pieces passes more than the time between two looks at what a stream has come to.
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
  t.ok(words >= 12 && words < 48, `${words} words, then no more`)
  t.match(text, /"code":"insufficient_user_quota"/, 'and why')
  const { connection } = await upstream.until('request')
  const { written } = await upstream.until('close', seen => seen.connection === connection)
  t.ok(written < HEAD.length + 48 * WORD.length, 'the upstream is told')
  const [charge] = await rows(
    `SELECT state, amount, uncollected, estimated FROM charges WHERE account = ${account}`,
  )
  const [wallet] = await rows(`SELECT balance FROM wallets WHERE id = ${id}`)
  t.match(charge, { state: 'settled', estimated: 1 })
  const paid = BigInt(charge?.amount as number)
  t.equal(paid, 12n * UNIT, 'more than was held at first, and all there was')
  t.equal(
    paid + BigInt(charge?.uncollected as number),
    BigInt(words) * UNIT,
    'every word is in the books',
  )
  t.equal(BigInt(wallet?.balance as number), 12n * UNIT - paid)
})

t.test('a plain answer that costs more than the account has', async t => {
  const { account, wallet: id, key } = await begin(ROUTES, 12n * UNIT)
  await upstream.script('chat', [
    plain({ id: 'x', choices: [], usage: { prompt_tokens: 1, completion_tokens: 20 } }),
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
})

t.test('meter: charges at most twice the hold of a call without hosted tools', async t => {
  const { account, wallet: id, key } = await begin(ROUTES, 100n * UNIT)
  await upstream.script('chat', [
    plain({ id: 'x', choices: [], usage: { prompt_tokens: 1, completion_tokens: 20 } }),
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
  // What upstreams run by themselves is bounded by nothing that a client asks for.
  const hosted = [{ type: 'mcp', server_label: 'x' }]
  t.equal((await ask({ tools: hosted })).headers.get('x-tollgate-charge'), '20')
  t.equal((await ask({ max_tokens: 0 })).status, 403, 'a limit of 0 is none')
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

t.test('meter: charges at most twice the hold of a stream that goes on', async t => {
  const { account, key } = await begin(ROUTES, 100n * UNIT)
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
  t.match(await response.text(), /\[DONE\]/, 'it is not cut: the account can pay')
  const [charge] = await rows(`SELECT amount, uncollected FROM charges WHERE account = ${account}`)
  t.equal(charge?.amount, Number(4n * UNIT))
  t.ok(Number(charge?.uncollected) > 0)
})
