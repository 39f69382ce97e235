/** The cost of a call that another model, or another attempt, answered. */
import t from 'tap'
import type { Plugin } from '../../../engine/plugin.ts'
import meter from '../../../plugins/meter.ts'
import { chatAnswer, startMetered } from '../../helpers/gateway/metered.ts'

const CHAT = '/v1/chat/completions'
const price = { input: '1', output: '1' }
const start = (test: Parameters<typeof startMetered>[0]) =>
  startMetered(test, 'sqlite', {
    more: { meter: meter as Plugin },
    routes: [{ path: `POST ${CHAT}`, model: 'body', translate: 'openai-chat', errors: 'openai' }],
    models: {
      asked: {
        to: 'up/first',
        fallback: 'spare',
        retry_on: [500],
        price: { input: '0.000001', output: '0.000002' },
      },
      spare: { to: 'up/spare', price },
    },
  })
const body = { model: 'asked', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 }

for (const status of [500, 503])
  t.test(`fallback: the customer pays the model asked for, once, after a ${status}`, async t => {
    const { upstream, send, money, rows, findings } = await start(t)
    upstream.script = count => (count === 1 ? { status } : { json: chatAnswer() })
    const reply = await send('POST', CHAT, {}, body)
    t.equal(reply.status, 200)
    t.same(
      upstream.bodies.map(request => (request as { model: string }).model),
      ['first', 'spare'],
    )
    t.same(await money(), { spent: 20_000, held: 0 }, 'ten tokens in and five out')
    t.match(await rows('SELECT state FROM charges'), [{ state: 'settled' }])
    t.same(await findings(), [])
  })

t.test('fallback: when it fails too, nothing is charged', async t => {
  const { upstream, send, money, findings } = await start(t)
  upstream.script = () => ({ status: 500 })
  t.equal((await send('POST', CHAT, {}, body)).status, 500)
  t.equal(upstream.bodies.length, 2)
  t.same(await money(), { spent: 0, held: 0 })
  t.same(await findings(), [])
})
