/** A balance that covers part of the worst case: the output limit is lowered to what the balance
 *  covers, down to a minimum. */
import t from 'tap'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

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
const ANSWER =
  '{"id":"x","choices":[{"index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}'
const RESPONSE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`
const prepareWith = async (amount: bigint): Promise<Customer> => {
  const customer = await prepareCustomer(ROUTES, amount)
  await upstream.script('chat', [{ do: 'body' }, { do: 'send', bytes: RESPONSE }])
  return customer
}
const ask = ({ key }: Customer, body: object, path = '/v1/chat/completions') =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, connection: 'close' },
    body: JSON.stringify({ messages: [], ...body }),
  })
/** The body of the request at the upstream. */
const sentBody = async (): Promise<object> => {
  const { body } = await upstream.until('body')
  return JSON.parse(Buffer.from(body.bytes).toString())
}

t.test('partial balance: lowers the output limit and reports it in a header', async t => {
  const customer = await prepareWith(1_000n * UNIT)
  const response = await ask(customer, { model: 'long' })
  t.equal(response.status, 200)
  await response.text()
  t.equal(response.headers.get('x-tollgate-output-limit'), '1000')
  t.match(await sentBody(), { max_completion_tokens: 1_000 })
  const withLimit = await ask(customer, { model: 'long', max_tokens: 500_000 })
  t.equal(withLimit.status, 403, 'a limit of the client is not changed')
  const imageRefusal = await ask(
    customer,
    { model: 'long', prompt: 'a cat' },
    '/v1/images/generations',
  )
  t.equal(imageRefusal.status, 403, 'a request without an output limit is not lowered')
  t.equal((await upstream.events('body')).length, 1, 'refused calls are not sent')
})

t.test('partial balance: refused when it covers 255 output tokens, served for 256', async t => {
  // The input has at most as many tokens as bytes.
  const { length } = JSON.stringify({ messages: [], model: 'even' })
  const customer = await prepareWith(BigInt(length + 255) * UNIT)
  const refusal = await ask(customer, { model: 'even' })
  t.equal(refusal.status, 403)
  t.match(await refusal.json(), { error: { code: 'insufficient_user_quota' } })
  t.same(await upstream.events('body'), [], 'not sent')
  await customer.credit(UNIT)
  const response = await ask(customer, { model: 'even' })
  t.equal(response.status, 200)
  await response.text()
  t.equal(response.headers.get('x-tollgate-output-limit'), '256')
  t.match(await sentBody(), { max_completion_tokens: 256 })
  const [balance, usedAmount] = [(length + 256 - 15) * Number(UNIT), 15 * Number(UNIT)]
  t.match(await rows(`SELECT balance, used FROM wallets WHERE id = ${customer.wallet}`), [
    { balance, used: usedAmount },
  ])
})
