/** PostgreSQL does not answer: what is billed is refused at once and told when to come again, what is free goes on, and both are
 *  as before when it does. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openDatabase } from '../../engine/store/database.ts'
import { makeSecret } from '../../plugins/credentials/secret.ts'
import { plain } from '../fixtures/upstream/scenarios.ts'
import { giveCredit } from '../helpers/credit.ts'
import { startGateway } from '../helpers/gateway.ts'
import { harmedPostgres } from '../helpers/postgres.ts'
import { eventually } from '../helpers/primary.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { createAsking } from './asking.ts'
import { tellsWhen } from './trouble.ts'

t.test('what costs nothing is served', async t => {
  const server = await harmedPostgres()
  const url = await server.create()
  const upstream = await startUpstream()
  const usage = { prompt_tokens: 1, completion_tokens: 1 }
  await upstream.script('chat', [{ do: 'body' }, plain({ id: 'x', choices: [], usage })])
  const gateway = await startGateway({
    env: { DATABASE_URL: url },
    settings: 'database: ${DATABASE_URL}',
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
  const database = await openDatabase({ url, writeTimeout: 10_000 })
  t.teardown(() => database.close())
  await giveCredit(database, 1, 10n ** 15n)
  const asking = createAsking(`${gateway.url}/v1/chat/completions`, await gateway.key())
  const stranger = createAsking(`${gateway.url}/v1/chat/completions`, makeSecret('key').text)
  t.teardown(() => [asking, stranger].map(each => each.close()))
  const body = (model: string) => ({ model, messages: [], stream: false })
  const billed = () => asking.ask(body('words'))
  const free = () => asking.ask(body('gift'))
  t.equal((await billed()).status, 200)

  server.signal('SIGSTOP')
  t.teardown(() => server.signal('SIGCONT'))
  // Longer than anything that was heard of the store before is believed without it.
  await pause(1_200)
  const refused = await Promise.all([billed(), billed(), stranger.ask(body('gift'))])
  t.same(
    refused.map(({ status }) => status),
    [503, 503, 503],
  )
  tellsWhen(t, refused)
  for (const { status } of await Promise.all([free(), free(), free()])) t.equal(status, 200)

  server.signal('SIGCONT')
  await eventually(async () => ((await billed()).status === 200 ? true : undefined))
  t.equal((await free()).status, 200)
  t.equal((await stranger.ask(body('gift'))).status, 401)
})
