/** Money for a part of what a call may cost: as much is written as it covers, down to what is of use to anybody. */
import t from 'tap'
import { begin, gateway, type Own, rows, UNIT, upstream } from './stand.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 } }
models:
  long: { to: up, price: { output: 1 }, output: 1000000, context: 1000000 }
  even: { to: up, price: { input: 1, output: 1 }, output: 1000000, context: 1000000 }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
  - { path: POST /v1/images/generations, auth: key, model: body, translate: openai-images, rewrite: '/' }
`
const ANSWER = '{"id":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}'
const SENT = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`
const beginWith = async (amount: bigint): Promise<Own> => {
  const own = await begin(ROUTES, amount)
  await upstream.script('chat', [{ do: 'body' }, { do: 'send', bytes: SENT }])
  return own
}
const ask = ({ key }: Own, body: object, path = '/v1/chat/completions') =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, connection: 'close' },
    body: JSON.stringify({ messages: [], ...body }),
  })
/** What the upstream was asked for. */
const sent = async (): Promise<object> => {
  const { body } = await upstream.until('body')
  return JSON.parse(Buffer.from(body.bytes).toString())
}

t.test('as much is written as it covers, and that is said', async t => {
  const own = await beginWith(1_000n * UNIT)
  const response = await ask(own, { model: 'long' })
  t.equal(response.status, 200)
  await response.text()
  t.equal(response.headers.get('x-tollgate-output-limit'), '1000')
  t.match(await sent(), { max_completion_tokens: 1_000 })
  const named = await ask(own, { model: 'long', max_tokens: 500_000 })
  t.equal(named.status, 403, 'a bound that the client named is not changed')
  const drawn = await ask(own, { model: 'long', prompt: 'a cat' }, '/v1/images/generations')
  t.equal(drawn.status, 403, 'a request that cannot say how much may be drawn is not lowered')
  t.equal((await upstream.seen('body')).length, 1, 'and is not sent')
})

t.test('of 255 tokens nobody has any use: refused; of 256: served', async t => {
  // What it reads is no more tokens than it has bytes.
  const { length } = JSON.stringify({ messages: [], model: 'even' })
  const own = await beginWith(BigInt(length + 255) * UNIT)
  const refused = await ask(own, { model: 'even' })
  t.equal(refused.status, 403)
  t.match(await refused.json(), { error: { code: 'insufficient_user_quota' } })
  t.same(await upstream.seen('body'), [], 'and is not sent')
  await own.credit(UNIT)
  const served = await ask(own, { model: 'even' })
  t.equal(served.status, 200)
  await served.text()
  t.equal(served.headers.get('x-tollgate-output-limit'), '256')
  t.match(await sent(), { max_completion_tokens: 256 })
  const [balance, used] = [(length + 256 - 15) * Number(UNIT), 15 * Number(UNIT)]
  t.match(await rows(`SELECT balance, used FROM wallets WHERE id = ${own.wallet}`), [
    { balance, used },
  ])
})
