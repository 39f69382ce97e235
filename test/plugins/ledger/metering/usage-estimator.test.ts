/** The estimated usage of a response: what the upstream reported, what the client received, and the
 *  checkpoints of a stream. */
import t from 'tap'
import type { Exchange } from '../../../../engine/plugin.ts'
import { UsageEstimator } from '../../../../plugins/ledger/usage-estimator.ts'
import {
  BLOCKED,
  CACHED,
  CONTENT_PASSED,
  OUTPUT_SO_FAR,
  USAGE,
  type Usage,
} from '../../../../plugins/slots.ts'

const create = ({ isStream = true, attempts = 1, size = 40 } = {}) => {
  const values = new Map<object, unknown>()
  const exchange = { attempts, slots: { get: (slot: object) => values.get(slot) } }
  const progress: number[] = []
  const checkpoints: Usage[] = []
  const estimator = new UsageEstimator(
    exchange as unknown as Exchange,
    { body: { prompt: 'x'.repeat(size) }, size },
    {
      onContent: () => {},
      reportProgress: output => void progress.push(output),
      checkpoint: usage => void checkpoints.push(usage),
    },
  )
  estimator.isStream = isStream
  const observe = (...texts: string[]): void => {
    for (const text of texts) estimator.observe(Buffer.from(text))
  }
  return { estimator, observe, progress, checkpoints, set: values.set.bind(values) }
}
const outputOf = ({ meters }: Usage): number | undefined => meters.output

t.test('usage estimate: a stream has a token for each event, wherever chunks end', async t => {
  const texts = [
    ['data: a\n\ndata: b\n\n'],
    ['data: a\n', '\ndata: b\n\n'],
    ['data: a\r\n\r\ndata: b\r\n\r\n'],
    ['data: a\r\n', '\r\ndata: b\r\n\r\n'],
    ['data: a\r\n\r', '\ndata: b\r\n\r', '\n'],
  ]
  for (const chunks of texts) {
    const { estimator, observe, progress } = create()
    t.notOk(estimator.isOwed)
    observe(...chunks)
    t.ok(estimator.isOwed)
    t.equal(outputOf(estimator.finalUsage()), 2, JSON.stringify(chunks))
    t.equal(progress.at(-1), 2)
  }
  const { estimator, observe } = create()
  observe('data: a\ndata: b\n', '')
  t.equal(outputOf(estimator.finalUsage()), 0, 'no event is complete')
})

t.test('usage estimate: an answer from the cache costs the same, however much came', async t => {
  const usage: Usage = { meters: { cached_call: 1 }, estimated: false, isFinalEstimate: true }
  for (const isStream of [true, false]) {
    const { estimator, observe, progress, checkpoints, set } = create({ isStream })
    set(CACHED, { request: 'r1', usage })
    observe('data: a\n\n')
    // The counts in the answer are those of the call that an upstream answered.
    set(USAGE, { meters: { input: 7, output: 9 }, estimated: false })
    set(OUTPUT_SO_FAR, { tokens: 5 })
    observe('data: b\n\n')
    t.same(progress, [0], 'a crash charges no output')
    t.same(checkpoints, [], 'it has one since before its head')
    t.equal(estimator.finalUsage(), usage)
    t.equal(estimator.estimate(100), usage)
  }
})

t.test('usage estimate: a plain body counts by its bytes, with its tail', async t => {
  const { estimator, observe, progress, checkpoints } = create({ isStream: false })
  observe('12345678')
  estimator.observeTail(Buffer.from('1234'))
  const usage = estimator.finalUsage()
  t.ok(usage.estimated)
  t.equal(outputOf(usage), 3)
  t.ok((usage.meters.input ?? 0) > 0)
  t.equal(outputOf(estimator.estimate(4)), 4, 'bytes that follow count')
  t.same([progress, checkpoints], [[0], []], 'a crash charges the checkpoint of the hold')
})

t.test(
  'usage estimate: the counts of the upstream are final, unless the stream was cut',
  async t => {
    const reported: Usage = { meters: { input: 7, output: 9 }, estimated: false }
    const { estimator, observe, set } = create()
    observe('data: a\n\n')
    set(USAGE, reported)
    t.equal(estimator.finalUsage(), reported)
    const last: Usage = { ...reported, estimated: true, isFinalEstimate: true }
    set(USAGE, last)
    t.equal(estimator.finalUsage(), last)
    set(USAGE, { meters: { input: 7, cached: 2 }, estimated: true })
    t.same(estimator.finalUsage(), { meters: { input: 7, cached: 2, output: 1 }, estimated: true })
    set(USAGE, { meters: { output: 5 }, estimated: true })
    t.equal(outputOf(estimator.finalUsage()), 5, 'at least what it has counted')
    set(OUTPUT_SO_FAR, { tokens: 8 })
    t.equal(outputOf(estimator.finalUsage()), 8, 'at least what was delivered')
  },
)

t.test('usage estimate: checkpoints begin before the first byte, once', async t => {
  const { estimator, observe, checkpoints, progress, set } = create()
  estimator.startCheckpoints()
  estimator.startCheckpoints()
  t.same(checkpoints.map(outputOf), [0])
  observe('data: a\n\n')
  t.equal(checkpoints.length, 1, 'not for each chunk')
  const fresh = create()
  fresh.observe('data: a\n\n')
  t.same(fresh.checkpoints.map(outputOf), [1])
  const final: Usage = { meters: { output: 4 }, estimated: true, isFinalEstimate: true }
  const late = create()
  late.set(USAGE, final)
  late.set(OUTPUT_SO_FAR, { tokens: 6 })
  late.observe('x')
  t.same([late.checkpoints, late.progress], [[final], [6]])
  set(OUTPUT_SO_FAR, { tokens: 3 })
  observe('y')
  t.equal(progress.at(-1), 3)
})

t.test('usage estimate: without an upstream and without usage the call is free', async t => {
  const { estimator, observe, progress, set } = create({ attempts: 0 })
  observe('data: a\n\n')
  t.ok(estimator.isFree)
  t.same(progress, [])
  set(USAGE, { meters: {}, estimated: false })
  t.notOk(estimator.isFree)
  t.notOk(create().estimator.isFree)
})

t.test('usage estimate: a blocked answer is reduced only if all content was withheld', async t => {
  for (const part of ['charge', 'input', 'free'] as const) {
    const withheld = create()
    withheld.observe('data: head\n\n')
    // Content passed the guards, and its bytes were never sent.
    withheld.set(CONTENT_PASSED, true)
    withheld.set(BLOCKED, part)
    t.ok(withheld.estimator.isOwed, part)
    t.equal(withheld.estimator.isFree, part === 'free', part)
    t.equal(outputOf(withheld.estimator.finalUsage()), part === 'input' ? undefined : 1, part)
    const delivered = create()
    delivered.set(CONTENT_PASSED, true)
    delivered.observe('data: head\n\n', 'data: text\n\n')
    delivered.set(BLOCKED, part)
    t.notOk(delivered.estimator.isFree, part)
    t.equal(outputOf(delivered.estimator.finalUsage()), 2, part)
  }
})
