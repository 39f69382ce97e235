/** The fast path of prices returns the same charge as `price`, or undefined. */
import t from 'tap'
import { priceFast } from '../../../plugins/billing/fast-price.ts'
import type { Rule } from '../../../plugins/billing/rule.ts'
import type { Meters } from '../../../plugins/slots.ts'
import { charge, ruleIn, ruleOf } from '../../helpers/money/billing.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { asOptions, calls, metersOf, rules } from './random-rules.ts'

const chargeFast = (rule: Rule, meters: Meters) =>
  rule.fastPrice && priceFast(rule.fastPrice, meters)
const isSameCharge = (rule: Rule, meters: Meters): boolean => {
  const fastCharge = chargeFast(rule, meters)
  if (!fastCharge) return true
  const { nanos, lines, unpriced } = charge(rule, meters)
  return (
    fastCharge.nanos === nanos &&
    fastCharge.lines === JSON.stringify(lines) &&
    unpriced.length === 0
  )
}
const TOKENS = ruleIn(
  'price: { input: 0.15 / 1M, cached: 0.075 / 1M, output: 0.60 USD / 1M, calls: 0.001 / 7 }',
)

t.test('fast price: equals the price of any call under any rule', async () => {
  fc.assert(
    fc.property(rules(), calls, (options, call) =>
      isSameCharge(ruleOf(asOptions(options, false)), metersOf(call)),
    ),
    { numRuns: shortOrLong(1_000, 200_000) },
  )
})

t.test('fast price: applies to prices by tokens for any counts', async t => {
  const count = fc.oneof(fc.nat(1_000_000), fc.nat(3), fc.maxSafeNat())
  let fastCharges = 0
  fc.assert(
    fc.property(fc.record({ input: count, cached: count, output: count, calls: count }), meters => {
      if (chargeFast(TOKENS, meters)) fastCharges++
      return isSameCharge(TOKENS, meters)
    }),
    { numRuns: shortOrLong(1_000, 100_000) },
  )
  t.ok(fastCharges > 100, `${fastCharges} calls`)
  t.same(
    chargeFast(TOKENS, { input: 152, output: 118 })?.nanos,
    charge(TOKENS, { input: 152, output: 118 }).nanos,
  )
})

t.test('fast price: is undefined where it might be inexact', async t => {
  const inexactMeters: readonly Meters[] = [
    { input: 1.5 },
    { input: -1 },
    { input: Number.NaN },
    { input: 2 ** 52 },
    { input: 1e12 + 1 },
    { input: 1, thinking: 5 },
    { input: 1, web_search: 1 },
    { input: 1, images: 1 },
    { calls: 0.5 },
  ]
  for (const meters of inexactMeters)
    t.equal(chargeFast(TOKENS, meters), undefined, JSON.stringify(meters))
  const prices = [
    'price: [{ meter: input, price: 1, when: { off_peak: true } }, { meter: input, price: 2 }]',
    'price: [{ meter: images, by: size, price: { default: 1 } }]',
    'price: [{ meter: seconds, price: 1, min: 3 }]',
    'price: [{ meter: seconds, price: 1, step: 3 }]',
    'price: { input: 1 / 1M, min: 1 }',
    'price: { input: 0.123456789 EUR / 999999937, output: 0.987654321 EUR / 999999929 }',
    'free: true',
  ]
  for (const price of prices) t.equal(ruleIn(price).fastPrice, undefined, price)
})
