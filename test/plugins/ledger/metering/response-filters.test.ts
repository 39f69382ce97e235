/** The filters that charge a response: with its head where it is complete by then, at its end
 *  otherwise, and nothing where it failed before its first byte. */
import t from 'tap'
import type { Exchange, Filter, Out } from '../../../../engine/plugin.ts'
import type { MeteredCall } from '../../../../plugins/ledger/metered-call.ts'
import { meterResponse } from '../../../../plugins/ledger/receipt-filter.ts'
import { UsageEstimator } from '../../../../plugins/ledger/usage-estimator.ts'
import { CACHED, USAGE, type Usage } from '../../../../plugins/slots.ts'

const HIT: Usage = { meters: { cached_call: 1 }, estimated: false, isFinalEstimate: true }
const JSON_TYPE = { 'content-type': 'application/json' }
interface Options {
  readonly headers?: Readonly<Record<string, string>>
  readonly kind?: string
  readonly usage?: Usage
  /** Answered from the cache. */
  readonly isCached?: boolean
  readonly attempts?: number
  readonly first?: Buffer
  readonly balance?: bigint
  readonly charge?: () => Promise<void> | undefined
}
/** Meters a response, and records what is charged, stored and sent. */
const meter = async (options: Options = {}) => {
  const { kind = 'call', attempts = 1, first, usage, balance, charge = () => undefined } = options
  const steps: string[] = []
  const writes: string[] = []
  const filters: Filter[] = []
  const headers: Record<string, string> = { ...options.headers }
  const exchange = {
    kind,
    attempts,
    request: { path: '/v1/chat' },
    slots: {
      get: (slot: object) => {
        if (slot === CACHED) return options.isCached && { request: 'r1', usage: HIT }
        return slot === USAGE ? usage : undefined
      },
    },
    reply: { headers, peek: async () => first, through: (filter: Filter) => filters.push(filter) },
  } as unknown as Exchange
  const call = {
    hold: () => void steps.push('hold'),
    checkpoint: () => void steps.push('checkpoint'),
    checkpointBeforeHead: (each: Usage) =>
      void steps.push(`before head: ${JSON.stringify(each.meters)}`),
    reportProgress: () => {},
    onContent: () => {},
    release: () => void steps.push('release'),
    collectOverage: () => undefined,
    dueFor: () => 5n,
    balanceAfter: () => balance,
    settle: () => {
      steps.push('settle')
      return charge()
    },
  } as unknown as MeteredCall
  const estimator = new UsageEstimator(exchange, { body: {}, size: 0 }, call)
  await meterResponse(exchange, call, estimator)
  const out = {
    write: (bytes: Uint8Array) => void writes.push(`${bytes.length}`),
    end: (bytes?: Uint8Array) => void writes.push(`end ${bytes?.length ?? 0}`),
    fail: (reason: Error) => void writes.push(`fail ${reason.message}`),
  } as unknown as Out
  const [filter] = filters
  if (!filter) throw new Error('no filter')
  return { filter, out, steps, writes, headers }
}
const FAULT = Object.assign(new Error('cut'), { code: 'CUT', status: 502 }) as never
const bytes = (length: number) => Buffer.alloc(length, 'x')
const later = () => new Promise(resolve => setImmediate(resolve))

t.test('receipt: a complete response is joined and charged before its head', async t => {
  const { filter, out, steps, writes, headers } = await meter({
    headers: { ...JSON_TYPE, 'content-length': '600' },
    balance: 7n,
  })
  for (let at = 0; at < 300; at++) filter.write?.(bytes(2), out)
  filter.end?.(bytes(1), out)
  t.same([steps, writes], [['settle'], ['end 601']])
  t.ok(headers['x-tollgate-charge'])
  t.ok(headers['x-tollgate-balance'])
})

t.test('settlement: a streamed answer from the cache has its charge before its head', async t => {
  const headers = { 'content-type': 'text/event-stream' }
  const { filter, out, steps } = await meter({ headers, isCached: true })
  filter.write?.(bytes(2), out)
  filter.write?.(bytes(2), out)
  filter.end?.(undefined, out)
  t.same(steps, ['hold', 'before head: {"cached_call":1}', 'settle'])
})

t.test('receipt: without a known balance only the charge is named', async t => {
  const { filter, out, writes, headers } = await meter({ headers: JSON_TYPE, first: bytes(4) })
  t.equal(headers['content-length'], '4')
  filter.write?.(bytes(4), out)
  filter.end?.(undefined, out)
  t.same(writes, ['end 4'])
  t.ok(headers['x-tollgate-charge'])
  t.notOk('x-tollgate-balance' in headers)
  const empty = await meter({ headers: JSON_TYPE })
  t.equal(empty.headers['content-length'], '0')
})

t.test('receipt: a call that reached no upstream, and one that fails, are released', async t => {
  const free = await meter({ headers: JSON_TYPE, attempts: 0 })
  free.filter.end?.(bytes(3), free.out)
  t.same([free.steps, free.writes], [['release'], ['end 3']])
  const failed = await meter({ headers: JSON_TYPE, first: bytes(1) })
  failed.filter.fail?.(FAULT, failed.out)
  t.same([failed.steps, failed.writes], [['release'], ['fail cut']])
})

t.test('settlement: a long response is held before its head and charged at its end', async t => {
  const { filter, out, steps, writes } = await meter({
    headers: JSON_TYPE,
    first: bytes(2 ** 20 + 1),
  })
  filter.write?.(bytes(9), out)
  filter.end?.(bytes(2), out)
  t.same(
    [steps, writes],
    [
      ['hold', 'settle'],
      ['9', 'end 2'],
    ],
  )
})

t.test('settlement: a checkpoint precedes a stream, but not a resumed call', async t => {
  const headers = { 'content-type': 'text/event-stream' }
  t.same((await meter({ headers })).steps, ['hold', 'checkpoint'])
  t.same((await meter({ headers, kind: 'turn' })).steps, ['hold'])
  const usage: Usage = { meters: { output: 1 }, estimated: true, isFinalEstimate: true }
  t.same((await meter({ headers: JSON_TYPE, first: bytes(2 ** 21), usage })).steps, [
    'hold',
    'checkpoint',
  ])
  t.same((await meter({ headers: { 'content-type': 'audio/mpeg' } })).steps, ['hold'])
})

t.test('settlement: a failure is charged if the client has received bytes', async t => {
  const headers = { 'content-type': 'audio/mpeg' }
  const unsent = await meter({ headers })
  unsent.filter.fail?.(FAULT, unsent.out)
  t.same([unsent.steps, unsent.writes], [['hold', 'release'], ['fail cut']])
  const { filter, out, steps, writes } = await meter({ headers, charge: async () => {} })
  filter.write?.(bytes(3), out)
  filter.fail?.(FAULT, out)
  await later()
  t.same(
    [steps, writes],
    [
      ['hold', 'settle'],
      ['3', 'fail cut'],
    ],
  )
})

t.test('settlement: the end waits for the charge, and fails with it', async t => {
  const headers = { 'content-type': 'audio/mpeg' }
  const paid = await meter({ headers, charge: async () => {} })
  paid.filter.end?.(undefined, paid.out)
  t.same(paid.writes, [])
  await later()
  t.same(paid.writes, ['end 0'])
  const refused = await meter({ headers, charge: () => Promise.reject(FAULT) })
  refused.filter.end?.(bytes(1), refused.out)
  await later()
  t.same(refused.writes, ['fail cut'])
  const free = await meter({ headers, attempts: 0 })
  free.filter.end?.(undefined, free.out)
  t.same([free.steps, free.writes], [['hold', 'release'], ['end 0']])
})
