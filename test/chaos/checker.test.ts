/** The checker believes nobody: each thing that may never be is planted once, and found. */
import t from 'tap'
import {
  type ClientCall,
  check,
  type Kill,
  type LedgerRow,
  type Logs,
  type Purse,
  type SinkEvent,
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
  left: false,
  came: Array.from({ length: 10 }, () => 0),
}
const call: UpstreamCall = { request: 'req_1', client: 'c1', emitted: 10, finished: true }
const row: LedgerRow = {
  request: 'req_1',
  account: 1,
  state: 'settled',
  amount: 20n,
  held: 90n,
  uncollected: 0n,
  estimated: false,
  refunded: 0n,
}
const right: Logs = {
  clients: [client],
  upstream: [call],
  ledger: [row],
  kills: [],
  price: 2n,
  lag: 1_000,
  events: [],
  purses: [{ account: 1, given: 100n, balance: 80n, reserved: 0n }],
  said: { calls: 20n, models: 20n, metric: 20n },
}
/** The books follow, so that only what is planted is wrong. */
const booked = (logs: Logs): Logs => {
  const spent = logs.ledger.reduce((sum, { amount }) => sum + amount, 0n)
  const purses = logs.purses.map(purse => ({ ...purse, balance: purse.given - spent }))
  return { ...logs, purses, said: { calls: spent, models: spent, metric: spent } }
}
/** Its only account, changed. */
const kept = (more: Partial<Purse>, logs: Logs = right): Logs => ({
  ...logs,
  purses: logs.purses.map(purse => ({ ...purse, ...more })),
})
const event: SinkEvent = { account: 1, id: 'msg_1', body: '{}', signed: true }
const low = kept({ threshold: 90n })
const found = (logs: Logs): readonly string[] => check(logs).map(({ invariant }) => invariant)
const cut: ClientCall = { ...client, outcome: 'cut' }
/** Before its first byte. */
const refused: ClientCall = { ...client, outcome: 'refused', status: 503, received: 0, came: [] }
const refusing = (status: number, of: Partial<LedgerRow> = {}): Logs =>
  booked({ ...right, clients: [{ ...refused, status }], ledger: [{ ...row, ...of }] })
const far = 1_000_000
const early = (count: number) => Array.from({ length: count }, () => 0)
const late = (count: number) => Array.from({ length: count }, () => 9_900)

t.test('nothing wrong', async t => {
  t.same(found(right), [])
  t.same(
    found({ ...right, clients: [cut] }),
    [],
    'charged to the end, and cut before the last byte',
  )
  t.same(found({ ...low, events: [event, event] }), [], 'told twice, by one name')
  const back = kept({ threshold: 80n, refunded: 5n })
  t.same(found({ ...back, events: [event] }), [], 'told of what was given back later')
  const released = { state: 'released', amount: 0n }
  t.same(found(refusing(503, released)), [], 'refused, and released')
  t.same(found(refusing(503, { refunded: 20n })), [], 'refused, and given back')
  const nowhere = { ...refusing(503), upstream: [], ledger: [] }
  t.same(found(booked(nowhere)), [], 'refused before anybody was asked')
})

const WRONG: Readonly<Record<string, readonly [string, Logs]>> = {
  'a whole reply without a row': ['I1', booked({ ...right, ledger: [] })],
  'a whole reply that was released': [
    'I1',
    booked({ ...right, ledger: [{ ...row, state: 'released', amount: 0n }] }),
  ],
  'one word too many': ['I1', booked({ ...right, ledger: [{ ...row, amount: 22n }] })],
  'one word too few': ['I1', booked({ ...right, ledger: [{ ...row, amount: 18n }] })],
  'a whole reply that nobody wrote': ['I1', { ...right, upstream: [{ ...call, finished: false }] }],
  'what could not be collected': ['I1', { ...right, ledger: [{ ...row, uncollected: 2n }] }],
  'a charge without a call': [
    'I2',
    booked({ ...right, ledger: [row, { ...row, request: 'req_2' }] }),
  ],
  'a stream charged by a kill before its first word': [
    'I2',
    booked({
      ...right,
      kills: [{ at: 9_990, kind: 'worker' }],
      clients: [{ ...cut, received: 0, came: [] }],
      ledger: [{ ...row, amount: 0n, estimated: true }],
    }),
  ],
  'two rows for one request': ['I3', booked({ ...right, ledger: [row, row] })],
  'a balance that is not the sum': ['I4', kept({ balance: 81n })],
  'a balance below zero': ['I5', booked(kept({ given: 10n }))],
  'a hold that stays': [
    'I6',
    booked({ ...right, clients: [], ledger: [{ ...row, state: 'open', amount: 0n }] }),
  ],
  'a share that stays': ['I6', kept({ reserved: 1n })],
  'a low balance that nobody was told of': ['I10', low],
  'an event of a balance that is not low': ['I10', { ...right, events: [event] }],
  'two events of one crossing': ['I10', { ...low, events: [event, { ...event, id: 'msg_2' }] }],
  'an event that is not signed': ['I10', { ...low, events: [{ ...event, signed: false }] }],
  'an event that changes on its way': [
    'I10',
    { ...low, events: [event, { ...event, body: '{"quota":1}' }] },
  ],
  'a call that the usage does not tell': [
    'I12',
    { ...right, said: { calls: 18n, models: 20n, metric: 20n } },
  ],
  'a sum that is not of its calls': [
    'I12',
    { ...right, said: { calls: 20n, models: 22n, metric: 20n } },
  ],
  'a metric that is not the ledger': [
    'I12',
    { ...right, said: { calls: 20n, models: 20n, metric: 0n } },
  ],
  'a second call': ['I7', { ...right, upstream: [call, call] }],
  'more than was written': [
    'I8',
    { ...right, clients: [cut], upstream: [{ ...call, emitted: 9, finished: false }] },
  ],
  'a refusal that is charged': ['refused', refusing(503)],
  'a refusal that is given back in part': ['refused', refusing(503, { refunded: 18n })],
  'a refusal that is owed': ['refused', refusing(503, { amount: 0n, uncollected: 2n })],
  'a refusal of another kind': ['refused', refusing(500, { state: 'released', amount: 0n })],
  'less than a client got that left': [
    'I8',
    booked({
      ...right,
      kills: [{ at: far, kind: 'all' }],
      ledger: [{ ...row, amount: 18n }],
      clients: [{ ...cut, left: true, came: [] }],
    }),
  ],
  'less than arrived long before a kill': [
    'I8',
    booked({
      ...right,
      clients: [{ ...cut, came: [...early(9), 10_000] }],
      ledger: [{ ...row, amount: 16n }],
    }),
  ],
}
for (const [name, [invariant, logs]] of Object.entries(WRONG))
  t.test(name, async t => {
    t.ok(found(logs).includes(invariant), found(logs).join(', ') || 'nothing was found')
  })

t.test('what a kill may cost is counted', async t => {
  const logs = booked({
    ...right,
    kills: [{ at: 10_001, kind: 'all' }],
    ledger: [{ ...row, amount: 12n }],
    clients: [{ ...cut, came: [...early(5), ...late(5)] }],
  })
  t.same(found(logs), [])
  t.equal(unpaid(logs), 4)
})

t.test('a store that was away knows less, if the process dies that could tell it', async t => {
  const harmed = (...kills: Kill[]) =>
    found(
      booked({
        ...right,
        kills,
        ledger: [{ ...row, amount: 8n }],
        clients: [{ ...cut, came: [...early(4), ...Array.from({ length: 6 }, () => 7_000)] }],
      }),
    )
  const away = { at: 6_500, kind: 'restart' }
  t.same(harmed(away, { at: 11_000, kind: 'worker' }), [])
  t.same(harmed(away), ['I8'], 'whoever lives tells it when it is back')
  t.same(harmed({ at: 11_000, kind: 'worker' }), ['I8'], 'it was there')
})
