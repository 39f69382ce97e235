/** Tests of the checker: each violation is planted once and must be found. */
import t from 'tap'
import {
  type Balance,
  type ClientCall,
  check,
  type Kill,
  type LedgerRow,
  type Logs,
  type SinkEvent,
  takenOver,
  type UpstreamCall,
  unpaid,
} from './checker.ts'

const client: ClientCall = {
  client: 'c1',
  stream: true,
  outcome: 'complete',
  status: 200,
  received: 10,
  endedAt: 10_000,
  hasLeft: false,
  arrivals: Array.from({ length: 10 }, () => 0),
}
const call: UpstreamCall = { request: 'req_1', client: 'c1', wordsWritten: 10, isFinished: true }
const row: LedgerRow = {
  request: 'req_1',
  account: 1,
  state: 'settled',
  amount: 20n,
  hold: 90n,
  uncollected: 0n,
  isEstimated: false,
  refunded: 0n,
}
const valid: Logs = {
  clients: [client],
  upstream: [call],
  ledger: [row],
  kills: [],
  price: 2n,
  lag: 1_000,
  events: [],
  balances: [{ account: 1, credited: 100n, balance: 80n, reserved: 0n }],
  reports: { calls: 20n, models: 20n, metric: 20n },
}
/** Updates balances and reports to the ledger, so that only the planted violation is wrong. */
const withBalances = (logs: Logs): Logs => {
  const spentAmount = logs.ledger.reduce((sum, { amount }) => sum + amount, 0n)
  const balances = logs.balances.map(each => ({ ...each, balance: each.credited - spentAmount }))
  return {
    ...logs,
    balances,
    reports: { calls: spentAmount, models: spentAmount, metric: spentAmount },
  }
}
/** Changes the only account. */
const withBalance = (more: Partial<Balance>, logs: Logs = valid): Logs => ({
  ...logs,
  balances: logs.balances.map(each => ({ ...each, ...more })),
})
const event: SinkEvent = { account: 1, id: 'msg_1', body: '{}', hasValidSignature: true }
const lowBalance = withBalance({ threshold: 90n })
const violationsIn = (logs: Logs): readonly string[] =>
  check(logs).map(({ invariant }) => invariant)
const cutCall: ClientCall = { ...client, outcome: 'cut' }
/** Refused before its first byte. */
const refusedCall: ClientCall = {
  ...client,
  outcome: 'refused',
  status: 503,
  received: 0,
  arrivals: [],
}
const withRefusal = (status: number, of: Partial<LedgerRow> = {}): Logs =>
  withBalances({ ...valid, clients: [{ ...refusedCall, status }], ledger: [{ ...row, ...of }] })
/** A call without an upstream, of which one word arrived at this gateway. */
const otherCall = (gateway: number, at: number): ClientCall => ({
  ...cutCall,
  client: `other ${gateway}`,
  gateway,
  received: 0,
  arrivals: [at],
})
const later = 1_000_000
const early = (count: number) => Array.from({ length: count }, () => 0)
const late = (count: number) => Array.from({ length: count }, () => 9_900)

t.test('chaos checker: finds no violation in valid logs', async t => {
  t.same(violationsIn(valid), [])
  t.same(
    violationsIn({ ...valid, clients: [cutCall] }),
    [],
    'charged completely, cut before the last byte',
  )
  t.same(
    violationsIn({ ...lowBalance, events: [event, event] }),
    [],
    'an event delivered twice with one id',
  )
  const refundedLater = withBalance({ threshold: 80n, refunded: 5n })
  t.same(
    violationsIn({ ...refundedLater, events: [event] }),
    [],
    'a low balance that a later refund raised',
  )
  const releasedRow = { state: 'released', amount: 0n }
  t.same(violationsIn(withRefusal(503, releasedRow)), [], 'refused and released')
  t.same(violationsIn(withRefusal(503, { refunded: 20n })), [], 'refused and refunded')
  const unreachedCall = { ...withRefusal(503), upstream: [], ledger: [] }
  t.same(violationsIn(withBalances(unreachedCall)), [], 'refused before the upstream call')
  const overBudget = { ...withRefusal(429), upstream: [], ledger: [] }
  t.same(violationsIn(withBalances(overBudget)), [], 'refused by a budget')
})

const INVALID_LOGS: Readonly<Record<string, readonly [string, Logs]>> = {
  'a complete reply without a row': ['I1', withBalances({ ...valid, ledger: [] })],
  'a complete reply that was released': [
    'I1',
    withBalances({ ...valid, ledger: [{ ...row, state: 'released', amount: 0n }] }),
  ],
  'a charge for one word too many': [
    'I1',
    withBalances({ ...valid, ledger: [{ ...row, amount: 22n }] }),
  ],
  'a charge for one word too few': [
    'I1',
    withBalances({ ...valid, ledger: [{ ...row, amount: 18n }] }),
  ],
  'a complete reply that the upstream did not finish': [
    'I1',
    { ...valid, upstream: [{ ...call, isFinished: false }] },
  ],
  'an uncollected amount': ['I1', { ...valid, ledger: [{ ...row, uncollected: 2n }] }],
  'a charge without a call': [
    'I2',
    withBalances({ ...valid, ledger: [row, { ...row, request: 'req_2' }] }),
  ],
  'a stream charged by a kill before its first word': [
    'I2',
    withBalances({
      ...valid,
      kills: [{ at: 9_990, kind: 'worker' }],
      clients: [{ ...cutCall, received: 0, arrivals: [] }],
      ledger: [{ ...row, amount: 0n, isEstimated: true }],
    }),
  ],
  'two rows for one request': ['I3', withBalances({ ...valid, ledger: [row, row] })],
  'a balance that is not the sum': ['I4', withBalance({ balance: 81n })],
  'a balance below zero': ['I5', withBalances(withBalance({ credited: 10n }))],
  'a hold without an end': [
    'I6',
    withBalances({ ...valid, clients: [], ledger: [{ ...row, state: 'open', amount: 0n }] }),
  ],
  'a reservation without an end': ['I6', withBalance({ reserved: 1n })],
  'a low balance without an event': ['I10', lowBalance],
  'an event of a balance that is not low': ['I10', { ...valid, events: [event] }],
  'two events of one crossing': [
    'I10',
    { ...lowBalance, events: [event, { ...event, id: 'msg_2' }] },
  ],
  'an event without a valid signature': [
    'I10',
    { ...lowBalance, events: [{ ...event, hasValidSignature: false }] },
  ],
  'an event whose body changes': [
    'I10',
    { ...lowBalance, events: [event, { ...event, body: '{"quota":1}' }] },
  ],
  'a usage report without a call': [
    'I12',
    { ...valid, reports: { calls: 18n, models: 20n, metric: 20n } },
  ],
  'a usage sum that differs from its calls': [
    'I12',
    { ...valid, reports: { calls: 20n, models: 22n, metric: 20n } },
  ],
  'a metric that differs from the ledger': [
    'I12',
    { ...valid, reports: { calls: 20n, models: 20n, metric: 0n } },
  ],
  'two upstream calls': ['I7', { ...valid, upstream: [call, call] }],
  'a charge for more words than were written': [
    'I8',
    { ...valid, clients: [cutCall], upstream: [{ ...call, wordsWritten: 9, isFinished: false }] },
  ],
  'a refusal that is charged': ['refused', withRefusal(503)],
  'a refusal that is refunded in part': ['refused', withRefusal(503, { refunded: 18n })],
  'a refusal with an uncollected amount': [
    'refused',
    withRefusal(503, { amount: 0n, uncollected: 2n }),
  ],
  'a refusal by a budget after the upstream call': [
    'refused',
    withRefusal(429, { state: 'released', amount: 0n }),
  ],
  'a refusal with another status than 503': [
    'refused',
    withRefusal(500, { state: 'released', amount: 0n }),
  ],
  'a charge below the words of a client that disconnected': [
    'I8',
    withBalances({
      ...valid,
      kills: [{ at: later, kind: 'all' }],
      ledger: [{ ...row, amount: 18n }],
      clients: [{ ...cutCall, hasLeft: true, arrivals: [] }],
    }),
  ],
  'a charge below the words that arrived long before a kill': [
    'I8',
    withBalances({
      ...valid,
      clients: [{ ...cutCall, arrivals: [...early(9), 10_000] }],
      ledger: [{ ...row, amount: 16n }],
    }),
  ],
}
for (const [name, [invariant, logs]] of Object.entries(INVALID_LOGS))
  t.test(`chaos checker: finds ${name}`, async t => {
    t.ok(violationsIn(logs).includes(invariant), violationsIn(logs).join(', ') || 'no violation')
  })

t.test('chaos checker: counts the words that a kill may leave unpaid', async t => {
  const logs = withBalances({
    ...valid,
    kills: [{ at: 10_001, kind: 'all' }],
    ledger: [{ ...row, amount: 12n }],
    clients: [{ ...cutCall, arrivals: [...early(5), ...late(5)] }],
  })
  t.same(violationsIn(logs), [])
  t.equal(unpaid(logs), 4)
})

t.test('chaos checker: another gateway ends the calls of one that stays away', async t => {
  const away = {
    ...valid,
    lag: 0,
    kills: [{ at: 10_001, kind: 'all', gateway: 1 }],
    takeovers: [{ gateway: 1, at: 14_000 }],
    ledger: [{ ...row, amount: 12n }],
    clients: [{ ...cutCall, gateway: 1, arrivals: [...early(6), ...late(4)] }],
  }
  const violations = (more: Partial<Logs>) => violationsIn(withBalances({ ...away, ...more }))
  t.same(violations({}), [])
  t.equal(takenOver(away), 1)
  t.same(violations({ takeovers: [] }), ['I8'], 'no other one ended it')
  t.same(violations({ takeovers: [{ gateway: 0, at: 14_000 }] }), ['I8'], 'of the other one')
  const returned = [...away.clients, otherCall(1, 12_500)]
  t.same(violations({ clients: returned }), ['I8'], 'its gateway served again before')
  const known = [{ ...cutCall, gateway: 1, arrivals: early(10) }]
  t.same(violations({ clients: known }), ['I8'], 'the store knew all words')
  const alive = { takeovers: [{ gateway: 1, at: 9_950 }] }
  t.same(violations(alive), [], 'the process went on')
  const before = [{ ...cutCall, gateway: 1, arrivals: late(10) }]
  t.same(violations({ clients: before, takeovers: [{ gateway: 1, at: 9_000 }] }), ['I8'])
})

t.test('chaos checker: a plan may hold the rest of a reaped call, and no more', async t => {
  const violations = (amount: bigint, heldByPlan: bigint) =>
    violationsIn(withBalances({ ...valid, ledger: [{ ...row, amount, heldByPlan }] }))
  t.same(violations(12n, 8n), [])
  t.same(violations(12n, 7n), ['I1'])
  t.same(violations(21n, 8n), ['I1'])
})

t.test(
  'chaos checker: allows unknown progress only if the store was away and the process was killed',
  async t => {
    const violationsAfter = (...kills: Kill[]) =>
      violationsIn(
        withBalances({
          ...valid,
          kills,
          ledger: [{ ...row, amount: 8n }],
          clients: [
            { ...cutCall, arrivals: [...early(4), ...Array.from({ length: 6 }, () => 7_000)] },
          ],
        }),
      )
    const away = { at: 6_500, kind: 'restart' }
    t.same(violationsAfter(away, { at: 11_000, kind: 'worker' }), [])
    t.same(
      violationsAfter(away, { at: 11_000, kind: 'worker', gateway: 1 }),
      ['I8'],
      'a process of another gateway was killed',
    )
    t.same(
      violationsAfter(away),
      ['I8'],
      'a live process reports its progress when the store is back',
    )
    t.same(violationsAfter({ at: 11_000, kind: 'worker' }), ['I8'], 'the store was available')
  },
)
