/** Amounts of money: parsed and printed exactly in nanos, quota and balances; invalid ones are
 *  refused with a reason. */
import t from 'tap'
import {
  balanceOf,
  MAX_AMOUNT,
  parseMoney,
  parseQuota,
  printMoney,
  quotaOf,
  quotasOf,
  UNIT,
} from '../../../plugins/billing/money.ts'
import fc from '../../helpers/property.ts'

const VALID: readonly (readonly [input: string | number | bigint, nanos: bigint])[] = [
  ['0', 0n],
  ['-0', 0n],
  [0, 0n],
  [-0, 0n],
  ['1', UNIT],
  ['12.50', 12_500_000_000n],
  ['0.000000001', 1n],
  ['0.1', 100_000_000n],
  [0.1, 100_000_000n],
  [7.2, 7_200_000_000n],
  [3n, 3n * UNIT],
  ['1.0000000000000', UNIT],
  ['007', 7n * UNIT],
  ['1000000000', MAX_AMOUNT],
  [999_999_999.999999, 999_999_999_999_999_000n],
]
for (const [input, nanos] of VALID)
  t.test(`parseMoney: ${typeof input} ${input} is ${nanos} nanos`, async t =>
    t.equal(parseMoney(input), nanos),
  )

const INVALID: readonly (readonly [input: unknown, code: string, message: RegExp])[] = [
  ['-1', 'AMOUNT_NEGATIVE', /"-1" is negative/],
  [-0.5, 'AMOUNT_NEGATIVE', /-0\.5 is negative/],
  [-3n, 'AMOUNT_NEGATIVE', /-3 is negative/],
  ['1e3', 'AMOUNT_EXPONENT', /"1e3" .* write its digits out/],
  ['2E-7', 'AMOUNT_EXPONENT', /exponent/],
  [1e-7, 'AMOUNT_EXPONENT', /1e-7 is written with an exponent/],
  [1e21, 'AMOUNT_EXPONENT', /exponent/],
  ['0.0000000001', 'AMOUNT_TOO_FINE', /more than 9 decimal places/],
  ['1.2345678901', 'AMOUNT_TOO_FINE', /more than 9/],
  ['1000000000.000000001', 'AMOUNT_TOO_LARGE', /more than 1000000000$/],
  ['99999999999999999999999999', 'AMOUNT_TOO_LARGE', /is more than/],
  ['9'.repeat(64), 'AMOUNT_TOO_LARGE', /is more than/],
  ['9'.repeat(65), 'AMOUNT_MALFORMED', /9…/],
  ['9'.repeat(10_000_000), 'AMOUNT_MALFORMED', /^.{1,120}$/],
  [0.1 + 0.2, 'AMOUNT_INEXACT', /put it in quotes/],
  [Number.NaN, 'AMOUNT_MALFORMED', /NaN is not a decimal number/],
  [Number.POSITIVE_INFINITY, 'AMOUNT_MALFORMED', /Infinity/],
  ['', 'AMOUNT_MALFORMED', /"" is not/],
  [' 1', 'AMOUNT_MALFORMED', /not a decimal/],
  ['1\n', 'AMOUNT_MALFORMED', /not a decimal/],
  ['+1', 'AMOUNT_MALFORMED', /not a decimal/],
  ['.5', 'AMOUNT_MALFORMED', /such as 12\.50/],
  ['5.', 'AMOUNT_MALFORMED', /not a decimal/],
  ['1,000', 'AMOUNT_MALFORMED', /not a decimal/],
  ['1_000', 'AMOUNT_MALFORMED', /not a decimal/],
  ['0x10', 'AMOUNT_MALFORMED', /not a decimal/],
  ['--1', 'AMOUNT_MALFORMED', /not a decimal/],
  ['1.2.3', 'AMOUNT_MALFORMED', /not a decimal/],
  ['１２', 'AMOUNT_MALFORMED', /not a decimal/],
  ['٣', 'AMOUNT_MALFORMED', /not a decimal/],
  ['Infinity', 'AMOUNT_MALFORMED', /not a decimal/],
  ['ten', 'AMOUNT_MALFORMED', /"ten" is not/],
  ["1'; DROP TABLE account; --", 'AMOUNT_MALFORMED', /not a decimal/],
  [true, 'AMOUNT_MALFORMED', /true is not/],
  [null, 'AMOUNT_MALFORMED', /null is not/],
  [undefined, 'AMOUNT_MALFORMED', /undefined is not/],
  [[], 'AMOUNT_MALFORMED', /not a decimal/],
  [['5'], 'AMOUNT_MALFORMED', /not a decimal/],
  [{ valueOf: () => 5 }, 'AMOUNT_MALFORMED', /not a decimal/],
]
for (const [input, code, message] of INVALID)
  t.test(`parseMoney: refuses ${typeof input} ${String(input).slice(0, 30)}`, async t =>
    t.throws(() => parseMoney(input), { code, message, status: 400, expose: true }),
  )

t.test('parseMoney: accepts negative amounts where allowed', async t => {
  t.equal(parseMoney('-0.000002', { negative: true }), -2_000n)
  t.throws(() => parseMoney('-1000000001', { negative: true }), { code: 'AMOUNT_TOO_LARGE' })
})

t.test('parseQuota: accepts whole quota of 2,000 nanos each', async t => {
  t.equal(parseQuota(500_000), UNIT)
  t.equal(parseQuota('1'), 2_000n)
  t.equal(parseQuota('500000000000000'), MAX_AMOUNT)
  t.throws(() => parseQuota(0.5), { code: 'AMOUNT_TOO_FINE' })
  t.throws(() => parseQuota('-1'), { code: 'AMOUNT_NEGATIVE' })
  t.throws(() => parseQuota('500000000000001'), { code: 'AMOUNT_TOO_LARGE' })
})

t.test('balanceOf: has at most six places and rounds down', async t => {
  const table: readonly (readonly [bigint, string])[] = [
    [0n, '0'],
    [1_999n, '0'],
    [2_000n, '0.000002'],
    [12_500_000_000n, '12.5'],
    [999_999_999n, '0.999998'],
    [-1n, '-0.000002'],
    [-2_000n, '-0.000002'],
    [-2_001n, '-0.000004'],
    [-3n * UNIT, '-3'],
  ]
  for (const [nanos, balance] of table) t.equal(balanceOf(nanos), balance, `${nanos} nanos`)
})

const nanos = fc.bigInt({ min: -MAX_AMOUNT, max: MAX_AMOUNT })
const RUNS = { numRuns: 10_000 }

t.test('printMoney: parses back to the same nanos', async () => {
  fc.assert(
    fc.property(nanos, each => parseMoney(printMoney(each), { negative: true }) === each),
    RUNS,
  )
})

t.test('balanceOf: is exact as a JSON number', async () => {
  fc.assert(
    fc.property(nanos, each => JSON.stringify(Number(balanceOf(each))) === plain(balanceOf(each))),
    RUNS,
  )
})
// JSON.stringify writes the smallest balances with an exponent.
const plain = (text: string): string =>
  Math.abs(Number(text)) < 1e-6 ? String(Number(text)) : text

t.test('quotasOf: remaining and used add up to the total after any payment', async t => {
  fc.assert(
    fc.property(
      fc.bigInt(0n, MAX_AMOUNT),
      fc.bigInt(0n, MAX_AMOUNT),
      fc.bigInt(0n, MAX_AMOUNT),
      (a, b, payment) => {
        const before = quotasOf(a, b)
        const after = quotasOf(a - (payment % (a + 1n)), b + (payment % (a + 1n)))
        return (
          before.remaining + before.used === before.total &&
          before.remaining === quotaOf(a) &&
          before.total === quotaOf(a + b) &&
          before.used >= 0n &&
          after.total === before.total
        )
      },
    ),
    RUNS,
  )
  t.same(quotasOf(1_000n, 1_000n), { remaining: 0n, used: 1n, total: 1n })
  t.same(quotasOf(-1n, 4_001n), { remaining: -1n, used: 3n, total: 2n })
})
