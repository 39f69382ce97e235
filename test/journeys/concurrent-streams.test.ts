/** Five hundred concurrent streams, in the short form a hundred, on a balance for ten: exactly ten
 *  are served and charged, on either store. `billed/metered-calls.test.ts` makes 500 calls. */
import t from 'tap'
import { openDatabase } from '../../engine/store/database.ts'
import { makeSecret } from '../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../plugins/credentials/statements.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { spendTenUnits } from '../helpers/money/ledger.ts'
import { shortOrLong } from '../helpers/run-settings.ts'
import { startPostgres } from '../helpers/store/postgres.ts'

const ROUNDS = shortOrLong(2, 200)
const CALLS = shortOrLong(100, 500)
/** Output tokens of one stream. With the model `words` they cost exactly the hold. */
const TOKENS = 100

t.setTimeout(scaled(shortOrLong(300_000, 7_200_000)))
const upstream = await startUpstream()
t.teardown(() => upstream.stop())

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: 'w' } }] })
const USAGE = event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: TOKENS } })
// The pauses are longer than the interval of the usage check.
await upstream.script('chat', [
  { do: 'send', bytes: HEAD + WORD },
  { do: 'wait', ms: 300 },
  { do: 'send', bytes: WORD.repeat(TOKENS - 2) },
  { do: 'wait', ms: 300 },
  { do: 'send', bytes: `${WORD}${USAGE}data: [DONE]\n\n` },
  { do: 'close' },
])

const routes = `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat', connections: 1000 } }
models:
  call: { to: up, price: { calls: 1 } }
  words: { to: up, price: { output: 0.01 } }
routes:
  - { path: 'POST /v1/chat/completions', auth: key, model: body, translate: openai-chat, rewrite: '/' }
`

const stores = {
  sqlite: async () => {
    const gateway = await startGateway({ routes, env: { WORKERS: '2' } })
    return {
      gateway,
      database: await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 }),
    }
  },
  postgres: async () => {
    const url = await (await startPostgres()).create()
    const gateway = await startGateway({
      routes,
      settings: 'database: ${DATABASE_URL}',
      env: { WORKERS: '2', DATABASE_URL: url },
    })
    return { gateway, database: await openDatabase({ url, writeTimeout: 60_000 }) }
  },
}

for (const [store, start] of Object.entries(stores))
  t.test(`concurrent streams: a balance for ten serves exactly ten (${store})`, async t => {
    const { gateway, database } = await start()
    t.teardown(async () => {
      await database.close()
      await gateway.stop()
    })
    const now = Date.now()
    const rows = await database.write(createAccount({ name: 'ann', role: 'customer' }, now))
    const account = Number(rows.at(-1)?.[0]?.id)
    const secret = makeSecret('key')
    await database.write(addKey({ account, name: 'test', secret }, now))
    const stream = (model: string) => async (): Promise<number> => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret.text}`, connection: 'close' },
        body: JSON.stringify({ model, stream: true, max_tokens: TOKENS, messages: [] }),
      })
      const text = await response.text()
      if (response.status === 200) t.ok(text.endsWith('data: [DONE]\n\n'), 'the stream is complete')
      return response.status
    }
    for (let round = 0; round < ROUNDS; round++)
      await spendTenUnits(t, database, account, CALLS, stream(round % 2 === 0 ? 'call' : 'words'))
  })
