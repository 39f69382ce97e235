/** A cached worst-case cost is never below a computed one. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { compileCurrency } from '../../../plugins/billing/currency.ts'
import { factsOf, requestBoundsOf } from '../../../plugins/billing/request-bounds.ts'
import { compileRule } from '../../../plugins/billing/rule.ts'
import { missingPrices, worstCase } from '../../../plugins/billing/worst-case.ts'
import { Prices } from '../../../plugins/ledger/prices.ts'
import { WorstCaseCosts } from '../../../plugins/ledger/worst-case-cost.ts'
import fc from '../../helpers/property.ts'

const report = (): void => {}
const currency = compileCurrency({ name: 'CNY', rates: { USD: 7 } }, [], report)
const ruleOf = (price: Json) => {
  const rule = compileRule({ price }, { currency, where: [], report })
  if (!rule) throw new Error('no rule')
  return rule
}
const CAPACITY = { output: 16_384, context: 128_000 }

for (const price of [
  { input: '0.15 / 1M', output: '0.60 / 1M' },
  { input: '1 / 1k', cached: '3 / 1k', output: 2 },
  { output: [{ price: 9, when: { prompt: '> 1k' } }, 1] },
  { images: { by: 'quality', price: { hd: 2, default: 1 } } },
])
  t.test(
    `worst-case cost: a cached cost covers the computed one: ${JSON.stringify(price)}`,
    async t => {
      const rule = ruleOf(price)
      const costs = new WorstCaseCosts(rule)
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: 200_000 }),
          fc.record({
            max_tokens: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
            quality: fc.constantFrom('hd', 'low'),
            n: fc.integer({ min: 1, max: 4 }),
            tools: fc.constantFrom(undefined, [{ type: 'web_search' }]),
          }),
          (size, body) => {
            const request = JSON.parse(JSON.stringify(body))
            const requestBounds = requestBoundsOf(request, size, { ...CAPACITY, rule })
            const facts = factsOf(request, 0)
            const cachedCost = costs.of(requestBounds, facts)
            const freshCost = worstCase(rule, requestBounds.bounds, facts)
            return (
              cachedCost.nanos >= freshCost.nanos &&
              cachedCost.unpriced.length === freshCost.unpriced.length
            )
          },
        ),
      )
      t.pass('every cost is covered')
    },
  )

t.test('worst-case cost: a body that is not an object has default bounds', async t => {
  const capacity = { ...CAPACITY, rule: ruleOf({ output: 1 }) }
  for (const body of [null, [], 'x', 5])
    t.match(requestBoundsOf(body, 100, capacity), { bounds: { prompt: 100, completion: 16_384 } })
  t.match(requestBoundsOf({ max_tokens: 10, n: 3 }, 9, capacity), { bounds: { completion: 30 } })
  t.match(requestBoundsOf({ max_tokens: 'ten', n: -1 }, 9, capacity), {
    bounds: { completion: 16_384 },
  })
  t.match(requestBoundsOf({ max_tokens: 1e9 }, 9, capacity), { bounds: { completion: 16_384 } })
  t.match(
    requestBoundsOf({ generationConfig: { maxOutputTokens: 7 } }, 9, { rule: capacity.rule }),
    {
      bounds: { completion: 7 },
    },
  )
})

t.test(
  'worst-case cost: ten thousand models take no cache memory before their first call',
  async t => {
    const price = { input: '1 / 1M', output: '2 / 1M' }
    const models = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`m${at}`, { output: 100, price }]),
    )
    const before = process.memoryUsage().heapUsed
    const prices = new Prices({ models, settings: {} } as never)
    const addedMemory = (process.memoryUsage().heapUsed - before) / 2 ** 20
    t.ok(addedMemory < 150, `${Math.round(addedMemory)} MiB, garbage included`)
    t.ok(prices.of('m9999'))
  },
)

t.test('worst-case cost: unpriced tools are refused where the settings or the model say so', t => {
  const price = { input: 1 }
  const models = {
    usual: { price },
    firm: { price, unpriced: 'refuse' },
    open: { price, unpriced: 'name' },
  }
  const refuse = { unpriced: 'refuse' }
  const refusing = (settings: object) => {
    const prices = new Prices({ models, settings } as never)
    return Object.keys(models).filter(name => prices.of(name)?.refusesUnpriced)
  }
  t.same(refusing({}), ['firm'])
  t.same(refusing(refuse), ['usual', 'firm'])
  const worstCost = { nanos: 0n, unboundedMeters: [], unpriced: ['web_search', 'seconds'] } as const
  t.same(missingPrices(worstCost, { refusesUnpriced: false }), {
    missingMeters: ['seconds'],
    unpricedTools: ['web_search'],
  })
  t.same(missingPrices(worstCost, { refusesUnpriced: true }), {
    missingMeters: ['web_search', 'seconds'],
    unpricedTools: [],
  })
  t.end()
})

t.test('worst-case cost: the cache is cleared when it is full', async t => {
  const rule = ruleOf({ input: 1, output: 1 })
  const costs = new WorstCaseCosts(rule)
  const costFor = (max_tokens: number) =>
    costs.of(requestBoundsOf({ max_tokens }, 300, { ...CAPACITY, rule }), factsOf({}, 0))
  const first = costFor(1)
  t.equal(costFor(1), first, 'the second cost is from the cache')
  for (let tokens = 2; tokens < 1_100; tokens++) costFor(tokens)
  const freshCost = costFor(1)
  t.not(freshCost, first)
  t.same(freshCost, first)
})
