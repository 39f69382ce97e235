/** Stages around the meter: a response without an upstream is free, and so is a refused one. */
import t, { type Test } from 'tap'
import { errors } from '../../../engine/errors.ts'
import type { Bytes, Exchange, Filter, Next, Out, Plugin, Stage } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import { CHARGE as CHARGE_SLOT, type Charge, USAGE } from '../../../plugins/slots.ts'
import translate from '../../../plugins/translate/index.ts'
import { installOn, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { pluginOf } from '../../helpers/gateway/test-server.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const PLENTY = 1_000_000_000_000n
/** The prices of a call and a token in nanos. */
const [CALL, TOKEN] = [1_000_000, 8_000]
const USAGE_COUNTS = { usage: { prompt_tokens: 0, completion_tokens: 500 } }
const ANSWER = JSON.stringify({
  choices: [{ message: { role: 'assistant', content: 'word' }, finish_reason: 'stop' }],
  ...USAGE_COUNTS,
})
const CHARGE = CALL + 500 * TOKEN
const DOCUMENT = {
  models: { m: { to: 'main/m', price: { output: '8.00 / 1M', calls: '0.001' } } },
}
const fault = errors({ BLOCKED: [451, 'It is blocked.'] })
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const WORD = event({ choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }] })
const WHOLE_STREAM = `${WORD}${event({ choices: [], ...USAGE_COUNTS })}data: [DONE]\n\n`
const body = (stream: boolean) =>
  JSON.stringify({ model: 'm', max_tokens: 500, messages: [], ...(stream && { stream }) })

/** The handlers before and after the meter in the pipeline. */
interface Around {
  readonly front?: Stage['handle']
  readonly behind?: (exchange: Exchange, next: Next) => void | Promise<void>
}
const withFilter =
  (filter: () => Filter): Stage['handle'] =>
  async (exchange, next) => {
    await next()
    exchange.reply.through(filter())
  }
const arrange = async (t: Test, engine: (typeof ENGINES)[number], { front, behind }: Around) => {
  const installation = await installOn(t, await startAnyStore(t, engine))
  const inner: Stage = {
    handle: async (exchange, next) => (behind ? behind(exchange, next) : next()),
  }
  const stages = {
    model: model as Plugin,
    front: pluginOf(front ? { handle: front } : {}),
    meter: meter as Plugin,
    inner: pluginOf(inner),
    translate: translate as Plugin,
  }
  const route = { model: 'body', translate: 'openai-chat' }
  const { url } = await installation.worker({ stages, document: DOCUMENT, route })
  await installation.database.write([
    openWallet(walletOf.account(1), 0n),
    addCredit({ account: 1, kind: 'credit', amount: PLENTY, note: 'test', at: 1 }),
  ])
  const read = (text: string) => installation.database.read(sql(text, text), [])
  const readPaid = async (): Promise<number> => {
    const [row] = await read(`SELECT balance FROM wallets WHERE id = ${walletOf.account(1)}`)
    return Number(PLENTY - BigInt(Number(row?.balance)))
  }
  installation.script = (request, response) => {
    const streams = request.headers['x-streams'] !== undefined
    response.setHeader('content-type', streams ? 'text/event-stream' : 'application/json')
    response.end(streams ? WHOLE_STREAM : ANSWER)
  }
  return {
    installation,
    ask: (stream: boolean) =>
      post(`${url}/a`, '', {
        body: body(stream),
        headers: stream ? { 'x-streams': '1' } : {},
      }),
    charges: () => read('SELECT state, amount, estimated, usage FROM charges ORDER BY opened'),
    /** Waits until all charges are closed, and checks their sum. */
    expectPaid: async (nanos: number) => {
      await eventually(async () => {
        const [row] = await read("SELECT count(*) AS open FROM charges WHERE state = 'open'")
        return (Number(row?.open) === 0 && (await readPaid()) === nanos) || undefined
      }).catch(() => {})
      t.equal(await readPaid(), nanos)
      t.same(await audit(installation.database), [])
    },
  }
}

/** Buffers the whole reply and calls `end` instead of sending it. */
const bufferReply = (end: (out: Out, whole: Bytes) => void) => (): Filter => {
  const parts: Bytes[] = []
  return {
    write: chunk => void parts.push(chunk),
    end(tail, out) {
      end(out, Buffer.concat(tail ? [...parts, tail] : parts))
    },
  }
}
/** Passes two words of a stream and calls `onThirdWord` at the third. */
const passTwoWords = (onThirdWord: (out: Out) => void) => (): Filter => {
  let words = 0
  return {
    write(chunk, out) {
      words += Buffer.from(chunk).toString().split('word').length - 1
      if (words > 2) onThirdWord(out)
      else out.write(chunk)
    },
  }
}
const throwError = (): never => {
  throw new Error('a filter threw')
}
const REFUSALS: readonly (readonly [what: string, front: Stage['handle'], status: number])[] = [
  ['a filter throws at the end', withFilter(bufferReply(throwError)), 500],
  ['a filter fails at the end', withFilter(bufferReply(out => out.fail(fault('BLOCKED')))), 451],
  [
    'a stage throws that has read the reply',
    async (exchange, next) => {
      await next()
      await exchange.reply.bytes(1_000_000)
      throw fault('BLOCKED')
    },
    451,
  ],
]
const CUTS: readonly (readonly [what: string, filter: () => Filter])[] = [
  ['throws', passTwoWords(throwError)],
  ['fails', passTwoWords(out => out.fail(fault('BLOCKED')))],
  ['ends it in a fault', passTwoWords(out => out.end(Buffer.from(WORD), fault('BLOCKED')))],
]

for (const engine of ENGINES)
  t.test(`meter on ${engine}`, async t => {
    t.test('meter: charges nothing for an answer without an upstream', async t => {
      const events = async function* () {
        yield Buffer.from(WORD.repeat(20))
        yield Buffer.from('data: [DONE]\n\n')
      }
      const json = { choices: [{ message: { content: 'from a cache' } }] }
      for (const behind of [
        (exchange: Exchange) => void exchange.answer(200, json),
        (exchange: Exchange) =>
          void exchange.answer(200, events(), { 'content-type': 'text/event-stream' }),
      ]) {
        const { ask, charges, expectPaid, installation } = await arrange(t, engine, { behind })
        for (const stream of [false, true]) {
          const { status, headers } = await ask(stream)
          t.equal(status, 200)
          t.equal(headers.get('x-tollgate-charge'), null)
        }
        t.same(
          (await charges()).filter(({ state }) => state === 'settled'),
          [],
        )
        t.equal(installation.calls, 0)
        await expectPaid(0)
      }
    })

    t.test('meter: charges the usage that a stage sets for its own answer', async t => {
      const behind = (exchange: Exchange): void => {
        exchange.slots.set(USAGE, { meters: { output: 2 }, estimated: false })
        exchange.answer(200, { own: true })
      }
      const { ask, expectPaid } = await arrange(t, engine, { behind })
      t.equal((await ask(false)).headers.get('x-tollgate-charge'), '0.001016')
      await expectPaid(CALL + 2 * TOKEN)
    })

    for (const [what, front, status] of REFUSALS)
      t.test(`meter: refunds a charge when ${what}`, async t => {
        const { ask, expectPaid, installation } = await arrange(t, engine, {
          ...(front && { front }),
        })
        for (const stream of [false, true]) t.equal((await ask(stream)).status, status)
        t.equal(installation.calls, 2)
        await expectPaid(0)
      })

    t.test('meter: keeps the charge when the fault is marked as paid', async t => {
      const paidFault = fault('BLOCKED', [], { paid: true })
      const front = withFilter(bufferReply(out => out.fail(paidFault)))
      const { ask, expectPaid } = await arrange(t, engine, { ...(front && { front }) })
      for (const stream of [false, true]) t.equal((await ask(stream)).status, 451)
      await expectPaid(2 * CHARGE)
    })

    for (const [what, filter] of CUTS)
      t.test(`meter: charges the delivered part of a stream when a filter ${what}`, async t => {
        const front = withFilter(filter)
        const { ask, charges, expectPaid, installation } = await arrange(t, engine, {
          ...(front && { front }),
        })
        const upstreamClosed = Promise.withResolvers<void>()
        installation.script = async (_, response) => {
          response.setHeader('content-type', 'text/event-stream')
          response.on('close', upstreamClosed.resolve)
          for (let words = 0; words < 3; words++) {
            response.write(WORD)
            await new Promise(resolve => setTimeout(resolve, 20))
          }
        }
        t.match((await ask(true)).text, /word/)
        await upstreamClosed.promise
        await expectPaid(CALL + 3 * TOKEN)
        t.match(await charges(), [{ state: 'settled', estimated: 1, usage: /"output":3/ }])
      })
  })

t.test('the slot CHARGE: final in onEnd of stages before the meter', async t => {
  const charges: (Charge | undefined)[] = []
  let refuses = false
  let answers = false
  const { ask, expectPaid, installation } = await arrange(t, 'sqlite', {
    front: async (exchange, next) => {
      exchange.onEnd(() => charges.push(exchange.slots.get(CHARGE_SLOT)))
      await next()
      if (refuses)
        exchange.reply.through({
          end: (_, out) => out.fail(fault('BLOCKED')),
        })
    },
    behind: (exchange, next) => (answers ? void exchange.answer(200, {}) : next()),
  })
  for (const stream of [false, true]) await ask(stream)
  await expectPaid(2 * CHARGE)
  for (const charge of charges) {
    t.match(charge, { nanos: BigInt(CHARGE), uncollected: 0n, estimated: false })
    t.match(JSON.parse(charge?.lines ?? ''), [{ meter: 'output' }, { meter: 'calls' }])
  }
  t.equal(charges.length, 2)

  installation.script = (_, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.write(WORD)
    setTimeout(() => response.destroy(), 50)
  }
  await ask(true).catch(() => {})
  const cut = charges.at(-1)
  t.match(cut, { estimated: true }, 'a cut stream is charged by an estimate')
  await expectPaid(2 * CHARGE + Number(cut?.nanos))

  refuses = true
  installation.script = (_, response) => response.end(ANSWER)
  t.equal((await ask(false)).status, 451)
  t.equal(charges.at(-1), undefined, 'a refused response is charged nothing')
  refuses = false
  answers = true
  await ask(false)
  t.equal(charges.length, 5)
  t.equal(charges.at(-1), undefined, 'a response without an upstream is free')
  await expectPaid(2 * CHARGE + Number(cut?.nanos))
})
