/** A conversation is held for before it opens, charged by what its answers used, and cut with a word when the money ends. */
import t from 'tap'
import { type Client, openSocket, type Refused } from '../../helpers/web-socket.ts'
import { begin, database, gateway, type Own, rows, UNIT, upstream } from './stand.ts'

const ROUTES = `
pipeline: [errors, auth, model, meter, realtime]
upstreams: { gp: { url: '${upstream.url}/s/gp/v1' } }
models:
  talk:
    to: gp/there
    context: 100
    output: 50
    price: { input: 0.01, cached: 0.001, output: 0.02, audio_input: 0.1, audio_output: 0.2, image_input: 0.05 }
  quiet: { to: gp/there, free: true }
routes:
  - { path: 'WS /v1/realtime', name: realtime, auth: key, model: { query: model }, realtime: true, errors: openai }
`
let own: Own
t.test('its routes', async () => {
  own = await begin(ROUTES)
  await upstream.script('gp', [{ do: 'websocket', manner: 'echo' }])
})
const dial = (model = 'talk') =>
  openSocket(`${gateway.url}/v1/realtime?model=${model}`, [], {
    headers: { authorization: `Bearer ${own.key}` },
  })
/** The upstream says back what it is told: the client plays both. */
const say = (client: Client, ...events: object[]) => {
  for (const event of events) client.socket.send(JSON.stringify(event))
}
const closed = async () => {
  for (;;) {
    const [row] = await rows(
      `SELECT * FROM charges WHERE account = ${own.account} ORDER BY opened DESC, request DESC LIMIT 1`,
    )
    if (row && row.state !== 'open') return row
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
const forget = () =>
  database.write([
    {
      sql: { name: 'test: clear', text: 'DELETE FROM charges WHERE account = ?' },
      values: [own.account],
    },
  ])

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
/** Of 40 read: 12 cached, 8 heard, 5 seen, 15 text. */
const ONE = { input: 15, cached: 12, audio_input: 8, image_input: 5, output: 5, audio_output: 15 }
const times = (count: number) =>
  Object.fromEntries(Object.entries(ONE).map(([meter, amount]) => [meter, amount * count]))
/** 0.15 + 0.012 + 0.8 + 0.25 + 0.1 + 3 */
const COST = 4_312_000_000

t.test('without money there is no conversation, but what is free is served', async t => {
  const refused = await dial().catch((thrown: Refused) => thrown)
  t.match(refused, { status: 403, body: /insufficient_user_quota/ })
  const client = await dial('quiet')
  say(client, ANSWER)
  await client.until(1)
  client.socket.close()
  await client.closed
  t.same(await rows(`SELECT * FROM charges WHERE account = ${own.account}`), [])
})

t.test('each answer counts, in its own kinds of tokens', async t => {
  await own.credit(100n * UNIT)
  const client = await dial()
  t.match(await rows("SELECT held FROM charges WHERE state = 'open'"), [{ held: 35_600_000_000 }])
  const said = { type: 'response.text.done', text: 'say "response.done"' }
  say(client, { type: 'session.created' }, ANSWER, said, ANSWER)
  t.same(
    (await client.until(4)).map(each => JSON.parse(each)),
    [{ type: 'session.created' }, ANSWER, said, ANSWER],
  )
  client.socket.close()
  await client.closed
  const charge = await closed()
  t.match(charge, { state: 'settled', amount: 2 * COST, estimated: 0 })
  t.same(JSON.parse(String(charge.usage)), times(2))
  t.match(await rows(`SELECT balance, reserved FROM wallets WHERE id = ${own.wallet}`), [
    { balance: 100_000_000_000 - 2 * COST },
  ])
  await forget()
})

t.test('who leaves in the middle of an answer pays for what was said', async t => {
  const client = await dial()
  const delta = { type: 'response.output_audio.delta', delta: 'A'.repeat(6_400) }
  say(client, ANSWER, delta, { type: 'response.output_text.delta', delta: 'hi' })
  await client.until(3)
  client.socket.terminate()
  const charge = await closed()
  t.match(charge, { state: 'settled', estimated: 1 })
  t.match(JSON.parse(String(charge.usage)), {
    input: 30,
    audio_input: 16,
    output: 6,
    audio_output: 18,
  })
  await forget()
})

t.test('an answer without counts is estimated, and what is no JSON passes', async t => {
  const client = await dial()
  say(client, { type: 'response.text.delta', delta: 'hi' })
  client.socket.send('"response.done"')
  client.socket.send('{"type":"response.done"')
  say(client, { type: 'response.done', response: { id: 'r', usage: null } })
  await client.until(4)
  client.socket.close()
  await client.closed
  t.match(await closed(), { state: 'settled', estimated: 1, usage: '{"output":1}' })
  await forget()
})

t.test('nothing said, nothing charged', async t => {
  const client = await dial()
  say(client, { type: 'session.update' })
  await client.until(1)
  client.socket.close()
  await client.closed
  t.match(await closed(), { state: 'released' })
  await forget()
})

t.test('when the money ends, so does the conversation, with an error event', async t => {
  const client = await dial()
  let answers = 0
  while (client.socket.readyState === client.socket.OPEN && answers < 100) {
    say(client, ANSWER)
    await client.until(++answers)
  }
  const end = await client.closed
  t.equal(end.code, 1008)
  t.match(JSON.parse(client.received.at(-1) ?? ''), {
    type: 'error',
    event_id: /^event_req_/,
    error: { type: 'insufficient_quota', code: 'insufficient_user_quota' },
  })
  const charge = await closed()
  const counted = client.received.length - 1
  t.match(charge, { state: 'settled', amount: counted * COST, uncollected: 0 })
  const [wallet] = await rows(`SELECT balance FROM wallets WHERE id = ${own.wallet}`)
  const balance = Number(wallet?.balance)
  t.ok(balance >= 0 && balance < 35_600_000_000, `${balance} would not have paid for another`)
})
