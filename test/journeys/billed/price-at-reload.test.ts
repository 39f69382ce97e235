/** A reload during a call: the call keeps the price it began with, and its charge names that
 *  configuration version. */
import t from 'tap'
import {
  gateway,
  prepareCustomer,
  rows,
  UNIT,
  upstream,
} from '../../helpers/money/billing-gateway.ts'

const routes = (price: number): string => `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat' } }
models:
  words: { to: up, price: { output: ${price} } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
`
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: 'w' } }] })
const END = `${event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 3 } })}data: [DONE]\n\n`

t.test('reload: a call under way keeps its price and version', async t => {
  const { account, key } = await prepareCustomer(routes(1), 100n * UNIT)
  await upstream.script('chat', [
    { do: 'send', bytes: HEAD + WORD },
    { do: 'gate', name: 'reloaded' },
    { do: 'send', bytes: END },
    { do: 'close' },
  ])
  const ask = () =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'words', stream: true, max_tokens: 5, messages: [] }),
    })
  const first = await ask()
  await gateway.reload(routes(7))
  await upstream.open('reloaded')
  await first.text()
  const second = await ask()
  await second.text()
  const charges = await rows(
    `SELECT state, amount, version FROM charges WHERE account = ${account} ORDER BY opened`,
  )
  const [before, after] = [first, second].map(({ headers }) =>
    Number(headers.get('x-tollgate-version')),
  )
  t.ok(Number(after) > Number(before))
  t.same(charges, [
    { state: 'settled', amount: Number(3n * UNIT), version: before },
    { state: 'settled', amount: Number(21n * UNIT), version: after },
  ])
})
