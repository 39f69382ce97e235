/** A reply whose last bytes report an error counts as cut, in the log, the metrics and for its
 *  stages. */
import t, { type Test } from 'tap'
import type { Bytes, Exchange, Fault, Filter, Log, Outcome } from '../../../engine/plugin.ts'
import { plugin, silent, startCore } from '../../helpers/core.ts'

const FAULT: Fault = { code: 'BROKEN', message: 'it broke', status: 502, expose: true }
async function* failingBody(): AsyncGenerator<Bytes> {
  yield Buffer.from('data: 1\n\n')
  yield Buffer.from('data: 2\n\n')
  throw Object.assign(new Error(), FAULT)
}
async function* wholeBody(): AsyncGenerator<Bytes> {
  yield Buffer.from('data: 1\n\n')
}
/** Encodes a fault as an event; `reportsFault`: and passes the fault on to the reply. */
const encodeErrors = (reportsFault: boolean): Filter => ({
  fail: (reason, out) =>
    out.end(Buffer.from('event: error\n\n'), reportsFault ? reason : undefined),
})
const arrange = async (t: Test, reply: (exchange: Exchange) => unknown) => {
  const lines: Record<string, unknown>[] = []
  const ends: Outcome[] = []
  const log: Log = { ...silent, info: line => void lines.push(line as Record<string, unknown>) }
  // A listener of the end, and a filter behind the encoder that handles no faults.
  const outer = plugin({
    async handle(exchange, next) {
      exchange.onEnd(outcome => void ends.push(outcome))
      await next()
      exchange.reply.through({ end: (tail, out) => out.end(tail) })
    },
  })
  const inner = plugin({
    answers: true,
    async handle(exchange) {
      await reply(exchange)
    },
  })
  const core = await startCore(t, { outer, inner }, { routes: [{ path: 'GET /', name: 'r' }] }, log)
  const response = await fetch(core.url)
  const text = await response.text()
  while (ends.length === 0) await new Promise(resolve => setImmediate(resolve))
  const cuts = core.resources.metrics.report().filter(({ name }) => name === 'cut_total')
  return { text, ends, lines, cuts }
}
const events = { 'content-type': 'text/event-stream' }
const CUT = {
  ends: [{ end: 'cut', status: 200, fault: { code: 'BROKEN' } }],
  lines: [{ end: 'cut', status: 200, code: 'BROKEN' }],
  cuts: [{ labels: { route: 'r', code: 'BROKEN' }, values: [1] }],
}
const COMPLETE = { ends: [{ end: 'complete', status: 200 }], cuts: [] }

t.test('ended with fault: an error event of a filter counts as cut', async t => {
  t.match(
    await arrange(t, exchange => {
      exchange.answer(200, failingBody(), events).through(encodeErrors(true))
    }),
    { text: 'data: 1\n\ndata: 2\n\nevent: error\n\n', ...CUT },
  )
})

t.test('ended with fault: counts as cut after a stage peeked at the reply', async t => {
  const result = await arrange(t, async exchange => {
    const reply = exchange.answer(200, failingBody(), events)
    reply.through(encodeErrors(true))
    await reply.peek()
    reply.through({})
    await reply.peek(bytes => bytes.length > 10)
  })
  t.match(result, CUT)
})

t.test('ended with fault: counts as cut after a stage read the reply whole', async t => {
  const result = await arrange(t, async exchange => {
    const reply = exchange.answer(200, failingBody(), events)
    reply.through(encodeErrors(true))
    await reply.bytes(1_000)
  })
  t.match(result, CUT)
})

t.test('ended with fault: a reply that a filter completes counts as complete', async t => {
  const result = await arrange(t, exchange => {
    exchange.answer(200, failingBody(), events).through(encodeErrors(false))
  })
  t.match(result, COMPLETE)
})

t.test('ended with fault: a reply without a fault counts as complete', async t => {
  const result = await arrange(t, exchange => {
    exchange.answer(200, wholeBody(), events).through(encodeErrors(true))
  })
  t.match(result, COMPLETE)
  t.equal(result.cuts.length, 0)
})

t.test('logged faults: the cause of a 503 is in the log and not in the reply', async t => {
  const warnings: Parameters<Log['warn']>[] = []
  const log: Log = { ...silent, warn: (...line) => void warnings.push(line) }
  const unavailable: Fault = {
    code: 'STORE_UNAVAILABLE',
    message: 'Database unavailable.',
    status: 503,
    expose: true,
    cause: 'database or disk is full',
  }
  const inner = plugin({
    answers: true,
    handle: () => Promise.reject(Object.assign(new Error(unavailable.message), unavailable)),
  })
  const core = await startCore(t, { inner }, { routes: [{ path: 'GET /', name: 'r' }] }, log)
  const response = await fetch(core.url)
  t.equal(response.status, 503)
  t.notMatch(await response.text(), 'disk')
  t.match(warnings, [
    [
      { route: 'r', code: 'STORE_UNAVAILABLE', cause: 'database or disk is full' },
      'Database unavailable.',
    ],
  ])
})
