/** What is remembered of holds is never less than what would be reckoned anew. */

import t from 'tap'
import { askedOf, factsOf } from '../../plugins/billing/asked.ts'
import { compileCurrency } from '../../plugins/billing/currency.ts'
import { compileRule } from '../../plugins/billing/rule.ts'
import { worst } from '../../plugins/billing/worst.ts'
import { Mosts } from '../../plugins/ledger/most.ts'
import fc from '../helpers/property.ts'

const report = (): void => {}
const currency = compileCurrency({ name: 'CNY', rates: { USD: 7 } }, [], report)
const ruleOf = (price: unknown) => {
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
  t.test(JSON.stringify(price), async t => {
    const rule = ruleOf(price)
    const mosts = new Mosts(rule)
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
          const given = JSON.parse(JSON.stringify(body))
          const asked = askedOf(given, size, { ...CAPACITY, rule })
          const facts = factsOf(given, 0)
          const known = mosts.of(asked, facts)
          const anew = worst(rule, asked.bounds, facts)
          return known.nanos >= anew.nanos && known.unpriced.length === anew.unpriced.length
        },
      ),
    )
    t.pass('never less')
  })

t.test('a body that is no object asks for nothing in particular', async t => {
  const capacity = { ...CAPACITY, rule: ruleOf({ output: 1 }) }
  for (const body of [null, [], 'x', 5])
    t.match(askedOf(body, 100, capacity), { bounds: { prompt: 100, completion: 16_384 } })
  t.match(askedOf({ max_tokens: 10, n: 3 }, 9, capacity), { bounds: { completion: 30 } })
  t.match(askedOf({ max_tokens: 'ten', n: -1 }, 9, capacity), { bounds: { completion: 16_384 } })
  t.match(askedOf({ max_tokens: 1e9 }, 9, capacity), { bounds: { completion: 16_384 } })
  t.match(askedOf({ generationConfig: { maxOutputTokens: 7 } }, 9, { rule: capacity.rule }), {
    bounds: { completion: 7 },
  })
})
