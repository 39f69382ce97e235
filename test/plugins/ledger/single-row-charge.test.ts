/** A plain answer is one row of the ledger, written before its first byte leaves; whatever may leave earlier is held in
 *  the store before. */
import { type ClientRequest, request as httpRequest, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Metrics, Plugin } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { type Installation, installOn, post } from '../../helpers/idempotent.ts'
import { reapAll } from '../../helpers/membership.ts'
import { eventually } from '../../helpers/primary.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store.ts'

const USED = { usage: { prompt_tokens: 1_000, completion_tokens: 500 } }
const BODY = JSON.stringify({ model: 'm', messages: [], max_tokens: 600 })
const STREAM = JSON.stringify({ model: 'm', messages: [], max_tokens: 600, stream: true })
const PLENTY = 1_000_000_000_000n

/** What the meter counted. */
interface Counted {
  readonly name: string
  readonly labels: object
}
const arrange = async (t: Test, engine: (typeof ENGINES)[number], balance = PLENTY) => {
  const here = await installOn(t, await startAnyStore(t, engine))
  const counted: Counted[] = []
  const count: Metrics['count'] = (name, labels) => void counted.push({ name, labels })
  const heard = {
    ...(meter as Plugin),
    setup: ((options, host) =>
      (meter as Plugin).setup(options, {
        ...host,
        metrics: { ...host.metrics, count },
      })) as Plugin['setup'],
  }
  const stages = { model: model as Plugin, meter: heard, translate: translate as Plugin }
  const document = {
    models: { m: { to: 'main/m', price: { input: '2.00 / 1M', output: '8.00 / 1M' } } },
  }
  const more = { stages, document, route: { model: 'body', translate: 'openai-chat' } }
  const worker = await here.worker(more)
  await here.database.write([
    openWallet(walletOf.account(1), 0n),
    addCredit({ account: 1, kind: 'credit', amount: balance, note: 'test', at: 1 }),
  ])
  const rows = (): Promise<readonly object[]> =>
    here.database.read(sql('all', 'SELECT state, amount, held FROM charges ORDER BY opened'), [])
  return { here, url: `${worker.url}/a`, rows, counted }
}
const json = (text: string) => ({
  'content-type': 'application/json',
  'content-length': String(text.length),
})
const balanced = async (t: Test, { database }: Installation) => t.same(await audit(database), [])

for (const engine of ENGINES)
  t.test(engine, async t => {
    t.test('nothing is written while a plain answer is awaited, and one row before it', async t => {
      const { here, url, rows } = await arrange(t, engine)
      let during: unknown
      here.script = async (_, response) => {
        during = await rows()
        response.setHeader('content-type', 'application/json').end(JSON.stringify(USED))
      }
      const reply = await post(url, '', { body: BODY })
      t.equal(reply.headers.get('x-tollgate-charge'), '0.006')
      t.same(during, [])
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
      await balanced(t, here)
    })

    t.test('a stream is held in the store before its first byte', async t => {
      const { here, url, rows } = await arrange(t, engine)
      let during: unknown
      here.script = async (_, response) => {
        during = await eventually(async () => {
          const found = await rows()
          return found.length > 0 ? found : undefined
        })
        response.setHeader('content-type', 'text/event-stream')
        response.end(`data: ${JSON.stringify({ choices: [], ...USED })}\n\ndata: [DONE]\n\n`)
      }
      t.match((await post(url, '', { body: STREAM })).text, /DONE/)
      t.match(during, [{ state: 'open', amount: 0 }])
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
    })

    t.test('so is what turns out to be long, or a stream that nobody asked for', async t => {
      const { here, url, rows } = await arrange(t, engine)
      const long = [json('x'.repeat(2_000_000)), 'x'.repeat(1_500_000)] as const
      const events = [{ 'content-type': 'text/event-stream' }, 'data: {"choices":[]}\n\n'] as const
      for (const [head, text] of [long, events]) {
        const before = (await rows()).length
        let close = (): void => {}
        here.script = (_, response) => {
          response.writeHead(200, head)
          response.write(text)
          close = () => response.destroy()
        }
        const got = await firstByte(url, BODY)
        t.match((await rows()).slice(before), [{ state: 'open' }])
        got.destroy()
        close()
        await eventually(async () => (await rows()).every(isClosed) || undefined)
      }
      await balanced(t, here)
    })

    t.test('what the store cannot be told of does not leave, in any piece', async t => {
      const { here, url, rows, counted } = await arrange(t, engine)
      const text = JSON.stringify({ ...USED, long: 'x'.repeat(100_000) })
      const dearer = JSON.stringify({ usage: { prompt_tokens: 1_000, completion_tokens: 50_000 } })
      const replies = [
        [json(dearer), dearer],
        [{ 'content-type': 'application/json; charset=UTF-8' }, dearer],
        [json(text), text],
        [{ 'content-type': 'application/json' }, text],
        [json('x'.repeat(2_000_000)), 'x'.repeat(2_000_000)],
        [{ 'content-type': 'text/event-stream' }, 'data: {"choices":[]}\n\ndata: [DONE]\n\n'],
      ] as const
      for (const [head, body] of replies) {
        here.script = async (_, response) => {
          // It took so long that its process counts as dead: what it had taken went back.
          await reapAll(here.database)
          response.writeHead(200, head).write(body.slice(0, 40))
          setImmediate(() => response.end(body.slice(40)))
        }
        const { status } = await post(url, '', { body: BODY })
        t.equal(status, 503, JSON.stringify(head))
      }
      t.same(await rows(), [])
      t.match(counted, [{ name: 'uncharged_total', labels: { model: 'm' } }])
      here.script = (_, response) =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(USED))
      t.equal((await post(url, '', { body: BODY })).status, 200, 'the next goes by a new name')
      await balanced(t, here)
    })

    t.test('a client that leaves before: nobody pays, and it is counted', async t => {
      const { here, url, rows, counted } = await arrange(t, engine)
      const reached = Promise.withResolvers<void>()
      here.script = () => reached.resolve()
      const leaving = ask(url, BODY)
      await reached.promise
      leaving.destroy()
      await eventually(() => counted.length > 0 || undefined)
      t.match(counted, [{ name: 'uncharged_total', labels: { model: 'm' } }])
      t.same(await rows(), [])
    })

    t.test('what breaks off in the middle is charged to nobody, whoever leaves', async t => {
      const { here, url, rows, counted } = await arrange(t, engine)
      const half = 'x'.repeat(500)
      let leave = (response: ServerResponse): void => void response.destroy()
      here.script = (_, response) => {
        response.writeHead(200, json(half.repeat(2)))
        response.write(half, () => setTimeout(() => leave(response), 20))
      }
      t.equal((await post(url, '', { body: BODY })).status, 502)
      const left = Promise.withResolvers<void>()
      const leaving = ask(url, BODY).on('close', () => left.resolve())
      leave = () => void leaving.destroy()
      await left.promise
      await eventually(() => counted.length > 0 || undefined)
      t.same(await rows(), [])
      here.script = (_, response) =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(USED))
      t.equal((await post(url, '', { body: BODY })).status, 200)
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
      await balanced(t, here)
    })

    t.test('where money is short a hold is written down at once: others see it', async t => {
      const { here, url, rows } = await arrange(t, engine, 10_000_000n)
      let during: unknown
      here.script = async (_, response) => {
        during = await eventually(async () => {
          const found = await rows()
          return found.length > 0 ? found : undefined
        })
        response.setHeader('content-type', 'application/json').end(JSON.stringify(USED))
      }
      t.equal((await post(url, '', { body: BODY })).status, 200)
      t.match(during, [{ state: 'open' }])
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
      await balanced(t, here)
    })
  })

const isClosed = (row: object): boolean => 'state' in row && row.state !== 'open'
const ask = (url: string, body: string): ClientRequest => {
  const headers = { account: '1', ...json(body), connection: 'close' }
  const asking = httpRequest(url, { method: 'POST', headers }).on('error', () => {})
  asking.end(body)
  return asking
}
/** Resolves when bytes of a reply are there. */
const firstByte = (url: string, body: string): Promise<ClientRequest> =>
  new Promise(resolve => {
    const asking = ask(url, body)
    asking.on('response', response => response.once('data', () => resolve(asking)))
  })
