/** A call is held before it leaves and settled before its last byte: what the client saw whole stands in the ledger. */
import t from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey } from '../../../plugins/credentials/statements.ts'
import { scaled } from '../../helpers/long.ts'
import { rushForTen } from '../../helpers/rush.ts'
import { begin, database, gateway, type Own, rows, UNIT, upstream } from './stand.ts'

const ROUNDS = scaled(1, 200)

const ROUTES = `
pipeline: [errors, auth, form, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 } }
models:
  call: { to: up, price: { calls: 1 } }
  tokens: { to: up, price: { input: 1.00 USD / 1M, output: 2.00 / 1k }, output: 1000 }
  gift: { to: up, free: true }
  picture: { to: up, price: { images: { by: quality, price: { hd: 0.5, default: 0.25 } } } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
  - { path: POST /v1/images/edits, form: { files: [image], numbers: [n] }, auth: key, model: body, translate: openai-images, rewrite: '/' }
`
let own: Own
const answer = (body: object): string => {
  const text = JSON.stringify(body)
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}
const plain = { id: 'x', choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }
const ask = (body: object) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.key}`, connection: 'close' },
    body: JSON.stringify({ messages: [], ...body }),
  })
const wallet = async () =>
  (await rows(`SELECT balance, used FROM wallets WHERE id = ${own.wallet}`))[0]

t.test('without money there is no call, but what is free is served', async t => {
  own = await begin(ROUTES)
  await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
  const refused = await ask({ model: 'call' })
  t.equal(refused.status, 403)
  const { error } = (await refused.json()) as { error: { code: string; message: string } }
  t.equal(error.code, 'insufficient_user_quota')
  t.match(
    error.message,
    /^Insufficient balance: this call may cost up to 1\.00 CNY, you have 0\.00 CNY\. Lower max_tokens or add credit\. \(/,
  )
  t.equal((await ask({ model: 'gift' })).status, 200)
  t.same(await rows(`SELECT * FROM charges WHERE account = ${own.account}`), [])
})

t.test('five hundred at once on money for ten', async t => {
  await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
  const one = async (): Promise<number> => {
    const response = await ask({ model: 'call' })
    await response.text()
    return response.status
  }
  for (let round = 0; round < ROUNDS; round++) await rushForTen(t, database, own.account, 500, one)
})

t.test('what was used is charged, to a nano, with its lines', async t => {
  await own.credit(100n * UNIT)
  const response = await ask({ model: 'tokens', max_tokens: 100 })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-tollgate-charge'), '0.01007')
  t.equal(response.headers.get('x-tollgate-balance'), '99.98993')
  await response.text()
  // 10 x 7.00/1M + 5 x 2.00/1k
  t.match(
    await rows("SELECT state, amount, estimated, usage FROM charges WHERE model = 'tokens'"),
    [{ state: 'settled', amount: 10_070_000, estimated: 0, usage: '{"input":10,"output":5}' }],
  )
  t.match(await wallet(), {
    balance: Number(100n * UNIT) - 10_070_000,
    used: Number(10n * UNIT) * ROUNDS + 10_070_000,
  })
})

t.test('what failed costs nothing', async t => {
  await upstream.script('chat', [
    { do: 'send', bytes: 'HTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\n{}' },
  ])
  const before = await wallet()
  t.equal((await ask({ model: 'tokens' })).status, 400)
  t.match(await wallet(), before ?? {})
  t.match(await rows("SELECT count(*) AS open FROM charges WHERE state = 'open'"), [{ open: 0 }])
})

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const word = event({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const COUNTS = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 40 } })
const last = async (): Promise<Readonly<Record<string, unknown>>> => {
  for (;;) {
    const [row] = await rows(
      "SELECT state, amount, usage, estimated FROM charges WHERE model = 'tokens' ORDER BY opened DESC, rowid DESC LIMIT 1",
    )
    if (row && row.state !== 'open') return row
  }
}

t.test(
  'a stream is charged by its counts, which its client did not ask for and does not see',
  async t => {
    await upstream.script('chat', [
      { do: 'send', bytes: `${HEAD}${word}${COUNTS}data: [DONE]\n\n` },
      { do: 'close' },
    ])
    const response = await ask({ model: 'tokens', stream: true })
    t.equal(await response.text(), `${word}data: [DONE]\n\n`)
    t.match(await last(), { state: 'settled', usage: '{"input":3,"output":40}', estimated: 0 })
    const asked = await ask({
      model: 'tokens',
      stream: true,
      stream_options: { include_usage: true },
    })
    t.equal(await asked.text(), `${word}${COUNTS}data: [DONE]\n\n`)
    const bodies = (await upstream.seen('body', 'chat'))
      .slice(-2)
      .map(({ body }) => Buffer.from(body.bytes).toString())
    for (const body of bodies) t.match(body, '"stream_options":{"include_usage":true}')
  },
)

t.test('a client that leaves pays for what it was sent', async t => {
  await upstream.script('chat', [
    { do: 'send', bytes: HEAD + word.repeat(5) },
    { do: 'gate', name: 'never' },
  ])
  const leaving = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.key}` },
    body: JSON.stringify({ model: 'tokens', stream: true, messages: [] }),
    signal: leaving.signal,
  })
  const reader = response.body?.getReader()
  let received = ''
  while (received.length < word.length * 5)
    received += Buffer.from((await reader?.read())?.value ?? []).toString()
  leaving.abort()
  const row = await last()
  t.match(row, { state: 'settled', estimated: 1 })
  t.equal((JSON.parse(String(row.usage)) as { output: number }).output, 5)
})

t.test(
  'an upstream that dies in the middle: what was delivered is paid for, with an error event',
  async t => {
    await upstream.script('chat', [{ do: 'send', bytes: HEAD + word.repeat(3) }, { do: 'reset' }])
    const text = await (await ask({ model: 'tokens', stream: true })).text()
    t.match(text, /"error":/)
    t.match(await last(), { state: 'settled', estimated: 1, usage: /"output":3/ })
  },
)

t.test('images are charged by the piece, also where a form asked for them', async t => {
  await own.credit((3n * UNIT) / 2n)
  const form = new FormData()
  const fields = { model: 'picture', n: '3', quality: 'hd', image: new Blob(['png']) }
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  const pictures = [{ url: 'https://a.example/1' }, { b64_json: 'AAAA' }]
  await upstream.script('chat', [{ do: 'send', bytes: answer({ created: 1, data: pictures }) }])
  const edit = (body: FormData | string) =>
    fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.key}`, connection: 'close' },
      body,
    })
  // Two came of three that were asked for.
  t.equal((await edit(form)).headers.get('x-tollgate-charge'), '1')
  const plainly = await edit(JSON.stringify({ model: 'picture', prompt: 'x', n: 2 }))
  t.equal(plainly.headers.get('x-tollgate-charge'), '0.5')
  t.match(await rows("SELECT usage, estimated FROM charges WHERE model = 'picture'"), [
    { usage: '{"images":2}', estimated: 0 },
    { usage: '{"images":2}', estimated: 0 },
  ])
  form.set('n', '1000')
  t.equal((await edit(form)).status, 403, 'the form’s number is what is held')
})

t.test('a key with a quota of its own, and a tool without a price', async t => {
  await gateway.reload(`
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 } }
models:
  call: { to: up, price: { calls: 1 } }
  words: { to: up, price: { input: 1 / 1M, output: 1 / 1M }, output: 100 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
`)
  await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
  const unpriced = await ask({ model: 'words', tools: [{ type: 'web_search' }] })
  t.equal(unpriced.status, 400)
  t.match(await unpriced.json(), { error: { message: /no price for .*web_search/ } })
  const secret = makeSecret('key')
  await database.write(
    addKey({ account: own.account, name: 'small', secret, quota: 500_000 }, Date.now()),
  )
  const call = () =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret.text}` },
      body: JSON.stringify({ model: 'call', messages: [] }),
    })
  t.equal((await call()).status, 200, 'one unit is 500,000 quota')
  const second = await call()
  t.equal(second.status, 403)
  t.match(await second.json(), {
    error: {
      code: 'pre_consume_token_quota_failed',
      message:
        /^Insufficient quota: this call may cost up to 1\.00 CNY, this API key has 0\.00 CNY\. Lower max_tokens or raise the quota of the key\. \(/,
    },
  })
})
