/** The short way to a price says what the long way says, or nothing. */

import t from 'tap'
import { priceFast } from '../../../plugins/billing/fast-price.ts'
import type { Rule } from '../../../plugins/billing/rule.ts'
import type { Meters } from '../../../plugins/slots.ts'
import { charge, ruleIn, ruleOf } from '../../helpers/billing.ts'
import { asOptions, calls, numbers, rules } from '../../helpers/billing-rules.ts'
import { scaled } from '../../helpers/long.ts'
import fc from '../../helpers/property.ts'

const short = (rule: Rule, meters: Meters) => rule.fastPrice && priceFast(rule.fastPrice, meters)
const agrees = (rule: Rule, meters: Meters): boolean => {
  const found = short(rule, meters)
  if (!found) return true
  const { nanos, lines, unpriced } = charge(rule, meters)
  return found.nanos === nanos && found.lines === JSON.stringify(lines) && unpriced.length === 0
}
const TOKENS = ruleIn(
  'price: { input: 0.15 / 1M, cached: 0.075 / 1M, output: 0.60 USD / 1M, calls: 0.001 / 7 }',
)

t.test('any rule, any call', async () => {
  fc.assert(
    fc.property(rules(), calls, (options, call) =>
      agrees(ruleOf(asOptions(options, false)), numbers(call)),
    ),
    { numRuns: scaled(2_000, 200_000) },
  )
})

t.test('prices by tokens take it, whatever is counted', async t => {
  const count = fc.oneof(fc.nat(1_000_000), fc.nat(3), fc.maxSafeNat())
  let taken = 0
  fc.assert(
    fc.property(fc.record({ input: count, cached: count, output: count, calls: count }), meters => {
      if (short(TOKENS, meters)) taken++
      return agrees(TOKENS, meters)
    }),
    { numRuns: scaled(3_000, 100_000) },
  )
  t.ok(taken > 300, `${taken} of them`)
  t.same(
    short(TOKENS, { input: 152, output: 118 })?.nanos,
    charge(TOKENS, { input: 152, output: 118 }).nanos,
  )
})

t.test('what it is not sure of it leaves to the long way', async t => {
  const unsure: readonly Meters[] = [
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
  for (const meters of unsure) t.equal(short(TOKENS, meters), undefined, JSON.stringify(meters))
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
