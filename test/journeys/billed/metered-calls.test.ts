/** The lifecycle of a metered call: the hold precedes the upstream request, and settlement precedes
 *  the last byte to the client. */
import t from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey } from '../../../plugins/credentials/statements.ts'
import {
  type Customer,
  database,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'
import { spendTenUnits } from '../../helpers/money/ledger.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const ROUNDS = shortOrLong(1, 200)

/** A time of day in UTC, which holds now or not. */
const hoursFromNow = (...hours: readonly [from: number, to: number]): string =>
  hours.map(hour => new Date(Date.now() + hour * 3_600_000).toISOString().slice(11, 16)).join('-')
const ROUTES = `
pipeline: [errors, auth, form, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 } }
models:
  call: { to: up, price: { calls: 1 } }
  tokens: { to: up, price: { input: 1.00 USD / 1M, output: 2.00 / 1k }, output: 1000 }
  gift: { to: up, free: true }
  night: { to: up, price: { output: [{ price: 1 / 1M, when: { time: '${hoursFromNow(-2, 2)}' } }, 2 / 1M] }, output: 1000 }
  day: { to: up, price: { output: [{ price: 1 / 1M, when: { time: '${hoursFromNow(2, -2)}' } }, 2 / 1M] }, output: 1000 }
  picture: { to: up, price: { images: { by: quality, price: { hd: 0.5, default: 0.25 } } } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
  - { path: POST /v1/images/edits, form: { files: [image], numbers: [n] }, auth: key, model: body, translate: openai-images, rewrite: '/' }
`
let customer: Customer
const answer = (body: object): string => {
  const text = JSON.stringify(body)
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}
const plain = {
  id: 'x',
  choices: [{ finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
}
const ask = (body: object) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, connection: 'close' },
    body: JSON.stringify({ messages: [], ...body }),
  })
const wallet = async () =>
  (await rows(`SELECT balance, used FROM wallets WHERE id = ${customer.wallet}`))[0]

t.test('metered call: refused without a balance; a free model is served', async t => {
  customer = await prepareCustomer(ROUTES)
  await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
  const refusal = await ask({ model: 'call' })
  t.equal(refusal.status, 403)
  const { error } = (await refusal.json()) as { error: { code: string; message: string } }
  t.equal(error.code, 'insufficient_user_quota')
  t.match(
    error.message,
    /^Insufficient balance: this call may cost up to 1\.00 CNY, 0\.00 CNY of your balance is available now\. Lower max_tokens or add credit\. \(/,
  )
  t.equal((await ask({ model: 'gift' })).status, 200)
  t.same(await rows(`SELECT * FROM charges WHERE account = ${customer.account}`), [])
})

t.test(
  'metered calls: five hundred concurrent calls cannot overspend a balance for ten',
  async t => {
    await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
    const one = async (): Promise<number> => {
      const response = await ask({ model: 'call' })
      await response.text()
      return response.status
    }
    for (let round = 0; round < ROUNDS; round++)
      await spendTenUnits(t, database, customer.account, 500, one)
  },
)

t.test('metered call: charged by its usage to a nano, with price lines', async t => {
  await customer.credit(100n * UNIT)
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

t.test('failed call: costs nothing', async t => {
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
const USAGE = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 40 } })
const lastCharge = async (): Promise<Readonly<Record<string, unknown>>> => {
  for (;;) {
    const [row] = await rows(
      "SELECT state, amount, usage, estimated FROM charges WHERE model = 'tokens' ORDER BY opened DESC, rowid DESC LIMIT 1",
    )
    if (row && row.state !== 'open') return row
  }
}

t.test('stream: charged by usage that the gateway requested and hides from the client', async t => {
  await upstream.script('chat', [
    { do: 'send', bytes: `${HEAD}${word}${USAGE}data: [DONE]\n\n` },
    { do: 'close' },
  ])
  const response = await ask({ model: 'tokens', stream: true })
  t.equal(await response.text(), `${word}data: [DONE]\n\n`)
  t.match(await lastCharge(), { state: 'settled', usage: '{"input":3,"output":40}', estimated: 0 })
  const withUsage = await ask({
    model: 'tokens',
    stream: true,
    stream_options: { include_usage: true },
  })
  t.equal(await withUsage.text(), `${word}${USAGE}data: [DONE]\n\n`)
  const bodies = (await upstream.events('body', 'chat'))
    .slice(-2)
    .map(({ body }) => Buffer.from(body.bytes).toString())
  for (const body of bodies) t.match(body, '"stream_options":{"include_usage":true}')
})

t.test('stream: a client that disconnects pays for what it received', async t => {
  await upstream.script('chat', [
    { do: 'send', bytes: HEAD + word.repeat(5) },
    { do: 'gate', name: 'never' },
  ])
  const leaving = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}` },
    body: JSON.stringify({ model: 'tokens', stream: true, messages: [] }),
    signal: leaving.signal,
  })
  const reader = response.body?.getReader()
  let text = ''
  while (text.length < word.length * 5)
    text += Buffer.from((await reader?.read())?.value ?? []).toString()
  leaving.abort()
  const row = await lastCharge()
  t.match(row, { state: 'settled', estimated: 1 })
  t.equal((JSON.parse(String(row.usage)) as { output: number }).output, 5)
})

t.test('stream: an upstream reset charges the delivered part and sends an error event', async t => {
  await upstream.script('chat', [{ do: 'send', bytes: HEAD + word.repeat(3) }, { do: 'reset' }])
  const text = await (await ask({ model: 'tokens', stream: true })).text()
  t.match(text, /"error":/)
  t.match(await lastCharge(), { state: 'settled', estimated: 1, usage: /"output":3/ })
})

t.test('images: charged per image, for JSON and form requests', async t => {
  await customer.credit((3n * UNIT) / 2n)
  const form = new FormData()
  const fields = { model: 'picture', n: '3', quality: 'hd', image: new Blob(['png']) }
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  const pictures = [{ url: 'https://a.example/1' }, { b64_json: 'AAAA' }]
  await upstream.script('chat', [{ do: 'send', bytes: answer({ created: 1, data: pictures }) }])
  const edit = (body: FormData | string) =>
    fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, connection: 'close' },
      body,
    })
  // The upstream returned two of three requested images.
  t.equal((await edit(form)).headers.get('x-tollgate-charge'), '1')
  const plainly = await edit(JSON.stringify({ model: 'picture', prompt: 'x', n: 2 }))
  t.equal(plainly.headers.get('x-tollgate-charge'), '0.5')
  t.match(await rows("SELECT usage, estimated FROM charges WHERE model = 'picture'"), [
    { usage: '{"images":2}', estimated: 0 },
    { usage: '{"images":2}', estimated: 0 },
  ])
  form.set('n', '1000')
  t.equal((await edit(form)).status, 403, 'the hold covers the number in the form')
})

t.test(
  'key quota and unpriced tools: calls beyond the quota or with an unpriced tool are refused',
  async t => {
    await gateway.reload(`
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 } }
models:
  call: { to: up, price: { calls: 1 } }
  words: { to: up, price: { input: 1 / 1M, output: 1 / 1M }, output: 100, unpriced: refuse }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
`)
    await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
    const refusal = await ask({ model: 'words', tools: [{ type: 'web_search' }] })
    t.equal(refusal.status, 400)
    t.match(await refusal.json(), { error: { message: /no price for .*web_search/ } })
    const secret = makeSecret('key')
    await database.write(
      addKey(
        {
          account: customer.account,
          name: 'small',
          secret,
          quota: { total: 500_000, period: null },
        },
        Date.now(),
      ),
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
          /^Insufficient quota: this call may cost up to 1\.00 CNY, 0\.00 CNY of this API key is available now\. Lower max_tokens or raise the quota of the key\. \(/,
      },
    })
  },
)

t.test('metered call: charged at the price of the time when it begins', async t => {
  customer = await prepareCustomer(ROUTES, UNIT)
  await upstream.script('chat', [{ do: 'send', bytes: answer(plain) }])
  for (const [model, charge] of Object.entries({ night: '0.000005', day: '0.00001' })) {
    const response = await ask({ model, max_tokens: 100 })
    t.equal(response.headers.get('x-tollgate-charge'), charge, model)
    await response.text()
  }
})
