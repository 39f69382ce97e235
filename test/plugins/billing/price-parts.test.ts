/** Prices of a session: each part by its own attributes, the call and the minimum once. */
import t from 'tap'
import { printFormula } from '../../../plugins/billing/formula.ts'
import { priceParts } from '../../../plugins/billing/price.ts'
import { NOON, ruleIn } from '../../helpers/money/billing.ts'

const FAST = { service_tier: 'priority' }
const SESSION = [
  { meters: { output: 1_000_000 }, attributes: FAST },
  { meters: { output: 1_000_000 }, attributes: {} },
]

t.test('price of a session: each part has the price of its own tier', async t => {
  const rule = ruleIn(
    `price: { calls: 3, output: [{ price: 8 / 1M, when: { service_tier: priority } }, 2 / 1M] }`,
  )
  const { nanos, unpriced } = priceParts(SESSION, rule, { at: NOON })
  t.same([nanos, unpriced], [13_000_000_000n, []], 'the call is charged once')
})

t.test('price of a session: a discount applies to the parts that fulfil its condition', async t => {
  const rule = ruleIn(
    `price: { output: 4 / 1M, discount: { factor: 0.5, when: { service_tier: priority } } }`,
  )
  t.equal(priceParts(SESSION, rule, { at: NOON }).nanos, 6_000_000_000n)
  const empty = { meters: {}, attributes: FAST }
  const { lines } = priceParts([...SESSION, empty], rule, { at: NOON })
  t.equal(
    printFormula(lines),
    '1,000,000 output x 4.00/1M + -2 by the discount to 0.5 + 1,000,000 output x 4.00/1M = 6',
    'a part without lines has no discount',
  )
})

t.test('price of a session: the minimum counts once', async t => {
  const rule = ruleIn('price: { output: 1 / 1M, min: 5 }')
  t.equal(priceParts(SESSION, rule, { at: NOON }).nanos, 5_000_000_000n)
})
