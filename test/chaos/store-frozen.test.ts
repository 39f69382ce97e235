/** A frozen PostgreSQL: billed calls are refused quickly with Retry-After, free calls are served,
 *  and both work as before after it continues. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openDatabase } from '../../engine/store/database.ts'
import { makeSecret } from '../../plugins/credentials/secret.ts'
import { plain } from '../fixtures/upstream/scenarios.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { giveCredit } from '../helpers/money/credit.ts'
import { faultyPostgres } from '../helpers/store/postgres.ts'
import { createClient } from './call-client.ts'
import { checkRefusals } from './faulty-gateway.ts'

t.test('frozen PostgreSQL: billed calls are refused quickly, free calls are served', async t => {
  const server = await faultyPostgres()
  const url = await server.create()
  const upstream = await startUpstream()
  const usage = { prompt_tokens: 1, completion_tokens: 1 }
  await upstream.script('chat', [
    { do: 'body' },
    plain({ id: 'x', choices: [{ finish_reason: 'stop' }], usage }),
  ])
  const gateway = await startGateway({
    env: { DATABASE_URL: url },
    // The timeouts of the store scale with the machine, that of a stage does not.
    settings: 'database: ${DATABASE_URL}\ntimeouts: { stage: 10m }',
    routes: `
pipeline: [errors, auth, model, limit, meter, translate]
upstreams: { up: { url: '${upstream.url}/s/chat' } }
models:
  words: { to: up, price: { calls: 1 } }
  gift: { to: up, free: true }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, rewrite: '/' }
`,
  })
  t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
  const database = await openDatabase({ url, writeTimeout: 60_000 })
  t.teardown(() => database.close())
  await giveCredit(database, 1, 10n ** 15n)
  const client = createClient(`${gateway.url}/v1/chat/completions`, await gateway.key())
  const unknownClient = createClient(`${gateway.url}/v1/chat/completions`, makeSecret('key').text)
  t.teardown(() => [client, unknownClient].map(each => each.close()))
  const body = (model: string) => ({ model, messages: [], stream: false })
  const askBilled = () => client.ask(body('words'))
  const askFree = () => client.ask(body('gift'))
  t.equal((await askBilled()).status, 200)

  server.signal('SIGSTOP')
  t.teardown(() => server.signal('SIGCONT'))
  // Longer than the time for which earlier answers of the store are trusted.
  await pause(1_200)
  // All at once: a known key is served for 60 s, and the refusals of a slow machine take as long.
  const [refusals, served] = await Promise.all([
    Promise.all([askBilled(), askBilled(), unknownClient.ask(body('gift'))]),
    Promise.all([askFree(), askFree(), askFree()]),
  ])
  t.same(
    refusals.map(({ status }) => status),
    [503, 503, 503],
  )
  checkRefusals(t, refusals)
  for (const { status } of served) t.equal(status, 200)

  server.signal('SIGCONT')
  await eventually(async () => ((await askBilled()).status === 200 ? true : undefined))
  t.equal((await askFree()).status, 200)
  t.equal((await unknownClient.ask(body('gift'))).status, 401)
})
