/** The checker believes nobody: each thing that may never be is planted once, and found. */
import t from 'tap'
import {
  type ClientCall,
  check,
  type LedgerRow,
  type Logs,
  type UpstreamCall,
  unpaid,
} from './checker.ts'

const client: ClientCall = {
  ...{ client: 'c1', stream: true, outcome: 'complete', status: 200 },
  ...{ received: 10, early: 10, endedAt: 0, left: false },
}
const call: UpstreamCall = { request: 'req_1', client: 'c1', emitted: 10, finished: true }
const row: LedgerRow = {
  request: 'req_1',
  state: 'settled',
  amount: 20n,
  held: 90n,
  uncollected: 0n,
}
const right: Logs = {
  ...{ clients: [client], upstream: [call], ledger: [row], kills: [] },
  ...{ price: 2n, given: 100n, balance: 80n, reserved: 0n },
}
/** The books follow, so that only what is planted is wrong. */
const booked = (logs: Logs): Logs => ({
  ...logs,
  balance: logs.given - logs.ledger.reduce((sum, { amount }) => sum + amount, 0n),
})
const found = (logs: Logs): readonly string[] => check(logs).map(({ invariant }) => invariant)
const cut: ClientCall = { ...client, outcome: 'cut' }
const far = 1_000_000

t.test('nothing wrong', async t => {
  t.same(found(right), [])
  t.same(
    found({ ...right, clients: [cut] }),
    [],
    'charged to the end, and cut before the last byte',
  )
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
  'two rows for one request': ['I3', booked({ ...right, ledger: [row, row] })],
  'a balance that is not the sum': ['I4', { ...right, balance: 81n }],
  'a balance below zero': ['I5', booked({ ...right, given: 10n })],
  'a hold that stays': [
    'I6',
    booked({ ...right, clients: [], ledger: [{ ...row, state: 'open', amount: 0n }] }),
  ],
  'a share that stays': ['I6', { ...right, reserved: 1n }],
  'a second call': ['I7', { ...right, upstream: [call, call] }],
  'more than was written': [
    'I8',
    { ...right, clients: [cut], upstream: [{ ...call, emitted: 9, finished: false }] },
  ],
  'less than a client got that left': [
    'I8',
    booked({
      ...{ ...right, kills: [{ at: far, kind: 'all' }], ledger: [{ ...row, amount: 18n }] },
      clients: [{ ...cut, left: true, early: 0 }],
    }),
  ],
  'less than arrived long before a kill': [
    'I8',
    booked({ ...right, clients: [{ ...cut, early: 9 }], ledger: [{ ...row, amount: 16n }] }),
  ],
}
for (const [name, [invariant, logs]] of Object.entries(WRONG))
  t.test(name, async t => {
    t.ok(found(logs).includes(invariant), found(logs).join(', ') || 'nothing was found')
  })

t.test('what a kill may cost is counted', async t => {
  const logs = booked({
    ...{ ...right, kills: [{ at: 1, kind: 'all' }], ledger: [{ ...row, amount: 12n }] },
    clients: [{ ...cut, early: 5 }],
  })
  t.same(found(logs), [])
  t.equal(unpaid(logs), 4)
})
