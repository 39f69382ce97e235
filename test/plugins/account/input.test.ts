/** Query parameters of the account endpoints: accepted and refused values. */
import t from 'tap'
import { toDollars } from '../../../plugins/account/dollars.ts'
import {
  cursorOf,
  instantOf,
  limitOf,
  markOf,
  periodOf,
  singleParameter,
} from '../../../plugins/account/input.ts'

t.test('query parameters: times are parsed strictly', async t => {
  t.equal(instantOf('2026-01-31', 'from'), Date.UTC(2026, 0, 31))
  t.equal(instantOf('2026-01-31T12:00Z', 'from'), Date.UTC(2026, 0, 31, 12))
  t.equal(instantOf('2026-01-31T12:00:00.5+08:00', 'from'), Date.UTC(2026, 0, 31, 4, 0, 0, 500))
  t.equal(
    instantOf('2026-01-31T12:00:00 08:00', 'from'),
    Date.UTC(2026, 0, 31, 4),
    'an unescaped plus',
  )
  const wrong = [
    'yesterday',
    '2026',
    '2026-1-1',
    '2026-02-31',
    '2026-02-31T00:00:00Z',
    '2026-13-01',
    '2026-01-31T12:00:00',
    '2026-01-31T25:00:00Z',
    '1700000000',
    '+2026-01-01',
    '2026-01-01 ',
    "2026-01-01'; DROP TABLE charges",
    '２０２６-01-01',
    `2026-01-01${'0'.repeat(9_999)}`,
  ]
  for (const text of wrong)
    t.throws(() => instantOf(text, 'from'), { code: 'USAGE_INSTANT', status: 400, param: 'from' })
})

t.test('query parameters: a period is half open and thirty days by default', async t => {
  const now = Date.UTC(2026, 5, 15)
  const nothing = { from: undefined, to: undefined }
  t.same(periodOf(nothing, now), { from: now + 1 - 30 * 86_400_000, to: now + 1 })
  const november = periodOf({ from: '2025-11-01', to: '2025-12-01' }, now)
  t.same(november, { from: Date.UTC(2025, 10, 1), to: Date.UTC(2025, 11, 1) })
  t.throws(() => periodOf({ from: '2025-11-01', to: '2025-11-01' }, now), { code: 'USAGE_PERIOD' })
  t.throws(() => periodOf({ from: '2027-01-01', to: undefined }, now), { code: 'USAGE_PERIOD' })
})

t.test('query parameters: a limit is a whole number from 1 to 1000', async t => {
  t.equal(limitOf(undefined), 100)
  t.equal(limitOf('1000'), 1_000)
  for (const text of ['0', '-1', '1001', '1.5', '1e2', 'all', '99999999999999999999'])
    t.throws(() => limitOf(text), { code: 'USAGE_LIMIT', status: 400 }, text)
})

t.test('query parameters: a repeated parameter is refused', async t => {
  t.equal(singleParameter(new URLSearchParams('a=1'), 'a'), '1')
  t.equal(singleParameter(new URLSearchParams('a='), 'a'), undefined)
  t.throws(() => singleParameter(new URLSearchParams('a=1&a=2'), 'a'), {
    code: 'USAGE_TWICE',
    param: 'a',
  })
})

t.test('query parameters: a cursor continues its own list only', async t => {
  const first = [0, '']
  const cursor = cursorOf('call', [17, 'req_1'])
  t.same(markOf('call', first, cursor), [17, 'req_1'])
  t.same(markOf('call', first, undefined), first)
  const encodeCursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const wrong = [
    cursorOf('day', [17]),
    cursorOf('call', [17]),
    'x',
    '%%%',
    'e30',
    cursor.slice(0, -3),
    encodeCursor(['call', '17', 'a']),
    encodeCursor(['call', 1.5, 'a']),
    encodeCursor(['call', 1e300, 'a']),
    encodeCursor(['call', 1, 'a\0']),
    encodeCursor({ 0: 'call' }),
    encodeCursor(['call', 1, 'a'.repeat(4_000)]),
    encodeCursor(['call', 1, 'a', 2]),
    encodeCursor(['call', null, 'a']),
  ]
  for (const text of wrong)
    t.throws(() => markOf('call', first, text), { code: 'USAGE_CURSOR', status: 400 }, text)
})

t.test('toDollars: converts and rounds to six places', async t => {
  const currency = { name: 'CNY', rates: new Map([['USD', 7_200_000_000n]]) }
  t.equal(toDollars(7_200_000_000n, currency), '1')
  t.equal(toDollars(-7_200_000_000n, currency), '-1')
  t.equal(toDollars(1_000_000_000n, currency), '0.138889', 'to the nearest')
  t.equal(toDollars(0n, currency), '0')
  t.equal(toDollars(5n * 10n ** 9n, { name: 'USD', rates: new Map() }), '5')
})
