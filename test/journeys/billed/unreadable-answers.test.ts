/** Answers with status 200 that are not JSON, such as a login page behind a wrong URL: the client
 *  gets a 502 and pays nothing, whether the answer would pass or be translated. */
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'

let answer = { type: '', body: '' }
/** Whether the upstream sends its answer in two halves, 20 ms apart. */
let isSplit = false
const upstream = await startHttpUpstream(t, (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': answer.type })
  if (isSplit) {
    const half = answer.body.length / 2
    response.write(answer.body.slice(0, half))
    setTimeout(() => response.end(answer.body.slice(half)), 20)
  } else response.end(answer.body)
})
const ROUTES = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream}', formats: [openai-chat] } }
models:
  words: { to: up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
routes:
  - { path: POST /chat, auth: key, model: body, translate: openai-chat, errors: openai, rewrite: '/' }
  - { path: POST /messages, auth: key, model: body, translate: anthropic-messages, errors: anthropic, rewrite: '/' }
`
let customer: Customer
t.before(async () => {
  customer = await prepareCustomer(ROUTES, 100_000_000_000n)
})

const ask = async (path: string, stream: boolean) => {
  const response = await postTo(
    gateway.url + path,
    {
      model: 'words',
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'word '.repeat(2_000) }],
    },
    bearer(customer.key),
  )
  return { status: response.status, text: await response.text() }
}

const WHOLE = JSON.stringify({
  id: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1 },
})
const UNREADABLE = [
  { type: 'text/html', body: '<html><script>{"a":1}</script>Log in</html>' },
  { type: 'text/html', body: `<html>${'Log in. '.repeat(2_000)}</html>` },
  { type: 'application/json', body: WHOLE.slice(0, -1) },
  { type: 'application/json', body: '' },
]
for (const path of ['/chat', '/messages'])
  for (const stream of [false, true])
    t.test(`unreadable answer to ${path}, stream: ${stream}: 502 and no charge`, async t => {
      for (isSplit of [false, true])
        for (answer of UNREADABLE) {
          const { status, text } = await ask(path, stream)
          t.equal(status, 502, answer.body)
          t.match(text, /is not a valid openai-chat response/)
        }
      const isCharged = `SELECT count(*) AS n FROM charges WHERE account = ${customer.account} AND amount > 0`
      t.same(await rows(isCharged), [{ n: 0 }])
      const wallet = `SELECT balance, reserved FROM wallets WHERE id = ${customer.wallet}`
      await eventually(async () => Number((await rows(wallet))[0]?.balance) === 100_000_000_000)
    })

t.test('unreadable answers: a readable one of the same upstream is charged', async t => {
  answer = { type: 'application/json', body: WHOLE }
  t.equal((await ask('/chat', false)).status, 200)
  const charged = `SELECT amount FROM charges WHERE account = ${customer.account} AND state = 'settled'`
  t.match(await rows(charged), [{ amount: 4_000_000n }])
})
