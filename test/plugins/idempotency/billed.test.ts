/** Idempotency-Key with the real meter: repeated requests are charged once, also after failures. */
import t from 'tap'
import type { Plugin } from '../../../engine/plugin.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { installOn, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const USED = { usage: { prompt_tokens: 1_000, completion_tokens: 500 } }
const ANSWER = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
  ...USED,
}
/** Nanos: 1,000 tokens at 2 and 500 tokens at 8 per million. */
const CHARGE = 6_000_000
const BODY = JSON.stringify({ model: 'm', messages: [], max_tokens: 600 })

for (const engine of ENGINES)
  t.test(`idempotency with billing on ${engine}: repeated requests are charged once`, async t => {
    const here = await installOn(t, await startAnyStore(t, engine))
    const stages = {
      model: model as Plugin,
      meter: meter as Plugin,
      translate: translate as Plugin,
    }
    const document = {
      models: { m: { to: 'main/m', price: { input: '2.00 / 1M', output: '8.00 / 1M' } } },
    }
    const more = { stages, document, route: { model: 'body', translate: 'openai-chat' } }
    const workers = [await here.worker(more), await here.worker(more)]
    await here.database.write([
      openWallet(walletOf.account(1), 0n),
      addCredit({ account: 1, kind: 'credit', amount: 1_000_000_000n, note: 'test', at: 1 }),
    ])
    const ask = (at: number, key: string) => post(`${workers[at % 2]?.url}/a`, key, { body: BODY })
    const settledAmounts = async (): Promise<readonly number[]> => {
      const text = "SELECT amount FROM charges WHERE state = 'settled' ORDER BY opened"
      return (await here.database.read(sql('settled', text), [])).map(row => Number(row.amount))
    }
    here.script = (_, response) =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
    const storm = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(at, 'k')))
    t.same(
      [...new Set(storm.map(({ status }) => status))].filter(each => each !== 409),
      [200],
    )
    for (let at = 0; at < 4; at++) {
      const again = await ask(at, 'k')
      t.equal(again.headers.get('idempotent-replayed'), 'true')
      t.notOk(again.headers.has('x-tollgate-charge'), 'a replay is not charged')
    }
    t.same(await settledAmounts(), [CHARGE])

    here.script = (_, response) => void response.writeHead(500).end('{}')
    t.equal((await ask(0, 'fails')).status, 500)
    here.script = (_, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: 'a' } }] })}\n\n`)
      response.end(`data: ${JSON.stringify({ choices: [], ...USED })}\n\ndata: [DONE]\n\n`)
    }
    const stream = await ask(1, 'fails')
    t.match(stream.text, /\[DONE\]/)
    t.equal((await ask(0, 'fails')).text, stream.text)
    t.same(await settledAmounts(), [CHARGE, CHARGE])
    t.equal(here.calls, 3)
    await eventually(async () => {
      const text = "SELECT request FROM charges WHERE state = 'open'"
      return (await here.database.read(sql('open', text), [])).length === 0 || undefined
    })
  })
