/** A plain response is one row of the ledger, written before its first byte leaves. A response
 *  whose first byte may leave earlier has a hold in the store by then. */
import { type ClientRequest, request as httpRequest, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { errors } from '../../../engine/errors.ts'
import type { Metrics, Plugin } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { singleRowCharge } from '../../../plugins/ledger/single-row-charge.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import { BLOCKED } from '../../../plugins/slots.ts'
import translate from '../../../plugins/translate/index.ts'
import { type Installation, installOn, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { HELD_CALL } from '../../helpers/money/ledger.ts'
import { reapAll } from '../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const ANSWER = {
  choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 500 },
}
const BODY = JSON.stringify({ model: 'm', messages: [], max_tokens: 600 })
const STREAM = JSON.stringify({ model: 'm', messages: [], max_tokens: 600, stream: true })
const PLENTY = 1_000_000_000_000n

/** One count of a metric. */
interface Counter {
  readonly name: string
  readonly labels: object
}
/** Blocks each answer and charges it, as a guard with `blocked: charge` does. */
const blocking: Plugin = {
  schema: {},
  setup: () => ({
    async handle(exchange, next) {
      await next()
      exchange.reply.through({
        write() {},
        end(_, out) {
          exchange.slots.set(BLOCKED, 'charge')
          out.fail(fault('GUARD_BLOCKED', [], { paid: true }))
        },
      })
    },
  }),
}
const fault = errors({ GUARD_BLOCKED: [400, 'Blocked.'] })

const arrange = async (
  t: Test,
  engine: (typeof ENGINES)[number],
  { balance = PLENTY, more }: { balance?: bigint; more?: Record<string, Plugin> } = {},
) => {
  const installation = await installOn(t, await startAnyStore(t, engine))
  const counters: Counter[] = []
  const count: Metrics['count'] = (name, labels) => void counters.push({ name, labels })
  const countingMeter = {
    ...(meter as Plugin),
    setup: ((options, host) =>
      (meter as Plugin).setup(options, {
        ...host,
        metrics: { ...host.metrics, count },
      })) as Plugin['setup'],
  }
  const stages = {
    model: model as Plugin,
    meter: countingMeter,
    ...more,
    translate: translate as Plugin,
  }
  const document = {
    models: { m: { to: 'main/m', price: { input: '2.00 / 1M', output: '8.00 / 1M' } } },
  }
  const named = Object.fromEntries(Object.keys(more ?? {}).map(name => [name, true]))
  const route = { model: 'body', translate: 'openai-chat', ...named }
  const worker = await installation.worker({ stages, document, route })
  await installation.database.write([
    openWallet(walletOf.account(1), 0n),
    addCredit({ account: 1, kind: 'credit', amount: balance, note: 'test', at: 1 }),
  ])
  const rows = (): Promise<readonly object[]> =>
    installation.database.read(
      sql('all', 'SELECT state, amount, held FROM charges ORDER BY opened'),
      [],
    )
  return { installation, url: `${worker.url}/a`, rows, counters }
}
const json = (text: string) => ({
  'content-type': 'application/json',
  'content-length': String(text.length),
})
const auditClean = async (t: Test, { database }: Installation) => t.same(await audit(database), [])

for (const engine of ENGINES)
  t.test(`single-row charge on ${engine}`, async t => {
    t.test('single-row charge: writes one row, before the plain response leaves', async t => {
      const { installation, url, rows } = await arrange(t, engine)
      let during: unknown
      installation.script = async (_, response) => {
        during = await rows()
        response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      }
      const reply = await post(url, '', { body: BODY })
      t.equal(reply.headers.get('x-tollgate-charge'), '0.006')
      t.same(during, [])
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
      await auditClean(t, installation)
    })

    t.test('hold: a stream has a row before its first byte', async t => {
      const { installation, url, rows } = await arrange(t, engine)
      let during: unknown
      installation.script = async (_, response) => {
        during = await eventually(async () => {
          const currentRows = await rows()
          return currentRows.length > 0 ? currentRows : undefined
        })
        response.setHeader('content-type', 'text/event-stream')
        const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
        response.end(`data: ${JSON.stringify({ ...ANSWER, choices })}\n\ndata: [DONE]\n\n`)
      }
      t.match((await post(url, '', { body: STREAM })).text, /DONE/)
      t.match(during, [{ state: 'open', amount: 0 }])
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
    })

    t.test(
      'hold: a long response and an unrequested stream have a row before their first byte',
      async t => {
        const { installation, url, rows } = await arrange(t, engine)
        const long = [json('x'.repeat(2_000_000)), `{"text":"${'x'.repeat(1_500_000)}`] as const
        const events = [
          { 'content-type': 'text/event-stream' },
          'data: {"choices":[]}\n\n',
        ] as const
        for (const [head, text] of [long, events]) {
          const before = (await rows()).length
          let close = (): void => {}
          installation.script = (_, response) => {
            response.writeHead(200, head)
            response.write(text)
            close = () => response.destroy()
          }
          const request = await firstByte(url, BODY)
          t.match((await rows()).slice(before), [{ state: 'open' }])
          request.destroy()
          close()
          await eventually(async () => (await rows()).every(isClosed) || undefined)
        }
        await auditClean(t, installation)
      },
    )

    t.test('receipt: no byte of a response leaves when the charge cannot be written', async t => {
      const { installation, url, rows, counters } = await arrange(t, engine)
      const text = JSON.stringify({ ...ANSWER, long: 'x'.repeat(100_000) })
      const usage = { prompt_tokens: 1_000, completion_tokens: 50_000 }
      const costly = JSON.stringify({ ...ANSWER, usage })
      const longText = JSON.stringify({ ...ANSWER, long: 'x'.repeat(2_000_000) })
      const replies = [
        [json(costly), costly],
        [{ 'content-type': 'application/json; charset=UTF-8' }, costly],
        [json(text), text],
        [{ 'content-type': 'application/json' }, text],
        [json(longText), longText],
        [{ 'content-type': 'text/event-stream' }, 'data: {"choices":[]}\n\ndata: [DONE]\n\n'],
      ] as const
      for (const [head, body] of replies) {
        installation.script = async (_, response) => {
          // The store reaps the process during the call, and its leases return.
          await reapAll(installation.database)
          response.writeHead(200, head).write(body.slice(0, 40))
          setImmediate(() => response.end(body.slice(40)))
        }
        const { status } = await post(url, '', { body: BODY })
        t.equal(status, 503, JSON.stringify(head))
      }
      t.same(await rows(), [])
      t.match(counters, [{ name: 'uncharged_total', labels: { model: 'm' } }])
      installation.script = (_, response) =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      t.equal(
        (await post(url, '', { body: BODY })).status,
        200,
        'the next call uses a new process name',
      )
      await auditClean(t, installation)
    })

    t.test('blocked: a refusal that is charged waits for its charge', async t => {
      const more = { blocking }
      const { installation, url, rows } = await arrange(t, engine, { more })
      let isReaped = false
      installation.script = async (_, response) => {
        if (isReaped) await reapAll(installation.database)
        response.writeHead(200, json(JSON.stringify(ANSWER))).end(JSON.stringify(ANSWER))
      }
      const charged = [{ state: 'settled', amount: 6_000_000 }]
      t.match(await post(url, '', { body: BODY }), { status: 400, text: /Blocked/ })
      t.match(await rows(), charged)
      isReaped = true
      t.match(await post(url, '', { body: BODY }), { status: 503, text: /Retry it/ })
      const all = await rows()
      t.match(all, charged)
      t.equal(all.length, 1, 'what could not be charged is free')
      await auditClean(t, installation)
    })

    t.test(
      'uncharged calls: a client that leaves before the response is not charged and counted',
      async t => {
        const { installation, url, rows, counters } = await arrange(t, engine)
        const arrival = Promise.withResolvers<void>()
        installation.script = () => arrival.resolve()
        const request = sendRequest(url, BODY)
        await arrival.promise
        request.destroy()
        await eventually(() => counters.length > 0 || undefined)
        t.match(counters, [{ name: 'uncharged_total', labels: { model: 'm' } }])
        t.same(await rows(), [])
      },
    )

    t.test('uncharged calls: a plain response that breaks off is not charged', async t => {
      const { installation, url, rows, counters } = await arrange(t, engine)
      const half = `[${'1,'.repeat(250)}`
      let breakOff = (response: ServerResponse): void => void response.destroy()
      installation.script = (_, response) => {
        response.writeHead(200, json(half.repeat(2)))
        response.write(half, () => setTimeout(() => breakOff(response), 20))
      }
      t.equal((await post(url, '', { body: BODY })).status, 502)
      const clientClosed = Promise.withResolvers<void>()
      const request = sendRequest(url, BODY).on('close', () => clientClosed.resolve())
      breakOff = () => void request.destroy()
      await clientClosed.promise
      await eventually(() => counters.length > 0 || undefined)
      t.same(await rows(), [])
      installation.script = (_, response) =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      t.equal((await post(url, '', { body: BODY })).status, 200)
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
      await auditClean(t, installation)
    })

    t.test('contended wallet: the hold has a row at once', async t => {
      const { installation, url, rows } = await arrange(t, engine, { balance: 10_000_000n })
      let during: unknown
      installation.script = async (_, response) => {
        during = await eventually(async () => {
          const currentRows = await rows()
          return currentRows.length > 0 ? currentRows : undefined
        })
        response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
      }
      t.equal((await post(url, '', { body: BODY })).status, 200)
      t.match(during, [{ state: 'open' }])
      t.match(await rows(), [{ state: 'settled', amount: 6_000_000 }])
      await auditClean(t, installation)
    })
  })

const isClosed = (row: object): boolean => 'state' in row && row.state !== 'open'
const sendRequest = (url: string, body: string): ClientRequest => {
  const headers = { account: '1', ...json(body), connection: 'close' }
  const request = httpRequest(url, { method: 'POST', headers }).on('error', () => {})
  request.end(body)
  return request
}
/** Resolves at the first bytes of the response. */
const firstByte = (url: string, body: string): Promise<ClientRequest> =>
  new Promise(resolve => {
    const request = sendRequest(url, body)
    request.on('response', response => response.once('data', () => resolve(request)))
  })

t.test('single-row charge: its key admits it once, so that it needs no savepoint', async t => {
  const settlement = {
    amount: 5n,
    uncollected: 0n,
    isEstimated: false,
    usage: '{}',
    lines: '[]',
    closedAt: 8,
    wallets: [walletOf.account(1)],
  }
  const statementsOf = (heldAmount: bigint) =>
    singleRowCharge({ ...HELD_CALL, heldAmount }, settlement, { prompt: 0, output: 0 } as never)
  t.match(statementsOf(9n), [
    { once: true, rows: 1 },
    { rows: 'some', otherwise: 'LEASE_GONE' },
  ])
  t.notOk('rows' in (statementsOf(0n)[1] ?? {}), 'a free call holds no lease')
})
