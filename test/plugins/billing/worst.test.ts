/** The worst-case cost of a call: the most expensive usage within its bounds, and the meters
 *  without a bound or a price. */
import t from 'tap'
import type { Bounds } from '../../../plugins/billing/bounds.ts'
import { printFormula } from '../../../plugins/billing/formula.ts'
import type { Attribute } from '../../../plugins/billing/usage.ts'
import { coverableTokens, quote, worstCase } from '../../../plugins/billing/worst-case.ts'
import { NOON, ruleIn } from '../../helpers/money/billing.ts'

interface Row {
  readonly what: string
  readonly rule: string
  readonly bounds?: Bounds
  readonly facts?: Readonly<Record<string, Attribute>>
  readonly at?: number
  readonly nanos: bigint
  readonly unboundedMeters?: readonly string[]
  readonly unpriced?: readonly string[]
}
const TEXT = 'price: { input: 2 / 1M, cached: 0.5 / 1M, output: 8 / 1M }'
const WRITES = 'price: { input: 3 / 1M, cache_write: 3.75 / 1M, cache_write_1h: 6 / 1M }'
const TIERS = `price: { input: [{ price: 5 / 1M, when: { prompt: '> 200k' } }, 2 / 1M] }`
const CHEAPER = `price: { input: [{ price: 1 / 1M, when: { prompt: '> 200k' } }, 2 / 1M] }`
const SIZES = 'price: { images: { by: size, price: { small: 1, large: 4, default: 3 } } }'
const HOLES = 'price: { images: { by: size, price: { small: 1, large: 4 } } }'
const SEARCH = '{ price: { web_search: 25 / 1k }, max_calls: { web_search: 10 } }'
const NIGHT = `price: { calls: [{ price: 1, when: { time: '22:00-06:00' } }, 2] }`
const HALF = `price: { calls: 3, discount: { factor: 0.5, when: { off_peak: true }, step: 2 } }`
const BOUNDS = { prompt: 1_000, completion: 100 }

const TABLE: readonly Row[] = [
  { what: 'input and output at their bounds', rule: TEXT, bounds: BOUNDS, nanos: 2_800_000n },
  {
    what: 'a discount that the request orders',
    rule: HALF,
    facts: { off_peak: true },
    nanos: 2_000_000_000n,
  },
  { what: 'a discount that the request does not order', rule: HALF, nanos: 3_000_000_000n },
  {
    what: 'a discount that may not apply',
    rule: HALF.replace('off_peak: true', 'output: "> 1"'),
    nanos: 3_000_000_000n,
  },
  {
    what: 'a discount that may round up',
    rule: HALF.replace('off_peak: true', 'output: "> 1"').replace('step: 2', 'step: 5'),
    nanos: 5_000_000_000n,
  },
  {
    what: 'input meters share one bound',
    rule: WRITES,
    bounds: BOUNDS,
    nanos: 6_000_000n,
  },
  {
    what: 'an input meter that the request excludes costs nothing',
    rule: WRITES,
    bounds: { ...BOUNDS, meters: { cache_write_1h: 0 } },
    nanos: 3_750_000n,
  },
  {
    what: 'the most expensive input meter fills its own bound first',
    rule: WRITES,
    bounds: { ...BOUNDS, meters: { cache_write_1h: 100 } },
    nanos: 600_000n + 900n * 3_750n,
  },
  {
    what: 'a tier within the bound applies',
    rule: TIERS,
    bounds: { prompt: 200_001 },
    nanos: 1_000_005_000n,
  },
  {
    what: 'a tier beyond the bound does not apply',
    rule: TIERS,
    bounds: { prompt: 200_000 },
    nanos: 400_000_000n,
  },
  {
    what: 'a cheaper tier does not apply',
    rule: CHEAPER,
    bounds: { prompt: 200_001 },
    nanos: 400_002_000n,
  },
  {
    what: 'input without a bound is unbounded',
    rule: TEXT,
    bounds: { completion: 100 },
    nanos: 800_000n,
    unboundedMeters: ['input', 'cached'],
  },
  {
    what: 'a request without bounds leaves every meter unbounded',
    rule: TEXT,
    nanos: 0n,
    unboundedMeters: ['input', 'cached', 'output'],
  },
  {
    what: 'a meter of price 0 needs no bound',
    rule: 'price: { input: 0, calls: 1 }',
    nanos: 1_000_000_000n,
  },
  ...[Number.NaN, -1, Number.POSITIVE_INFINITY, 1e13].map(prompt => ({
    what: `${prompt} is not a bound`,
    rule: 'price: { input: 2 / 1M }',
    bounds: { prompt },
    nanos: 0n,
    unboundedMeters: ['input'],
  })),
  { what: 'max_calls bounds searches', rule: SEARCH, nanos: 250_000_000n },
  {
    what: 'the request bounds searches',
    rule: SEARCH,
    bounds: { meters: { web_search: 3 } },
    nanos: 75_000_000n,
  },
  {
    what: 'a request without searches costs nothing',
    rule: SEARCH,
    bounds: { meters: { web_search: 0 } },
    nanos: 0n,
  },
  {
    what: 'searches without a bound are unbounded',
    rule: 'price: { web_search: 25 / 1k }',
    nanos: 0n,
    unboundedMeters: ['web_search'],
  },
  {
    what: 'an offered tool without a line is unpriced',
    rule: TEXT,
    bounds: { ...BOUNDS, meters: { web_search: 1, file_search: 0 } },
    nanos: 2_800_000n,
    unpriced: ['web_search'],
  },
  {
    what: 'a known size has its price',
    rule: SIZES,
    bounds: { meters: { images: 2 } },
    facts: { size: 'small' },
    nanos: 2_000_000_000n,
  },
  {
    what: 'a size outside the table has the default price',
    rule: SIZES,
    bounds: { meters: { images: 2 } },
    facts: { size: 'odd' },
    nanos: 6_000_000_000n,
  },
  {
    what: 'an absent size has the default price',
    rule: SIZES,
    bounds: { meters: { images: 2 } },
    nanos: 6_000_000_000n,
  },
  {
    what: 'a known size in a table without a default has its price',
    rule: HOLES,
    bounds: { meters: { images: 2 } },
    facts: { size: 'small' },
    nanos: 2_000_000_000n,
  },
  {
    what: 'a size outside a table without a default is unpriced',
    rule: HOLES,
    bounds: { meters: { images: 2 } },
    facts: { size: '8K' },
    nanos: 0n,
    unpriced: ['images'],
  },
  {
    what: 'an absent size in a table without a default is unpriced',
    rule: HOLES,
    bounds: { meters: { images: 2 } },
    nanos: 0n,
    unpriced: ['images'],
  },
  {
    what: 'a minimum below the cost does not apply',
    rule: 'price: { seconds: { price: 0.05, min: 0.25 } }',
    bounds: { meters: { seconds: 8 } },
    nanos: 400_000_000n,
  },
  {
    // One token may be of the cheap meter, at its minimum, instead of the expensive one.
    what: 'a minimum of a shared bound is added',
    rule: `price: { input: [{ price: 10, when: { output: '> 1' } }, { price: 1, min: 5 }], cached: 9 }`,
    bounds: { prompt: 100 },
    nanos: 1_005_000_000_000n,
  },
  {
    what: 'a price by the time of day uses the start of the call',
    rule: NIGHT,
    nanos: 2_000_000_000n,
  },
  {
    what: 'a price by the time of day applies at night',
    rule: NIGHT,
    at: NOON + 10 * 3_600_000,
    nanos: 1_000_000_000n,
  },
  {
    what: 'the minimum of the charge applies',
    rule: 'price: { calls: 0.001, min: 0.5 }',
    nanos: 500_000_000n,
  },
  { what: 'a free rule costs nothing', rule: 'free: true', nanos: 0n },
]
for (const { what, rule, bounds = {}, facts = {}, at = NOON, ...expected } of TABLE)
  t.test(`worst-case cost: ${what}`, async t => {
    const { lines, ...worst } = quote(ruleIn(rule), bounds, { at, attributes: facts })
    t.same(worstCase(ruleIn(rule), bounds, { at, attributes: facts }), worst)
    t.same(worst, { unboundedMeters: [], unpriced: [], ...expected })
    const sum = lines.reduce((total, line) => total + BigInt(line.nanos), 0n)
    t.equal(sum, worst.nanos, 'the lines add up to it')
  })

t.test('worst-case cost: prints its formula', async t => {
  const formulaOf = (rule: string, bounds: Bounds): string =>
    printFormula(quote(ruleIn(rule), bounds, { at: NOON }).lines)
  t.equal(formulaOf(TEXT, BOUNDS), '1,000 input x 2.00/1M + 100 output x 8.00/1M = 0.0028')
  t.equal(formulaOf(SIZES, { meters: { images: 2 } }), '2 images (default) x 3.00 = 6')
  t.equal(
    formulaOf('price: { seconds: { price: 0.05, min: 1 }, min: 2 }', { meters: { seconds: 8 } }),
    '8 seconds x 0.05, at least 1.00 + 1 up to the minimum of 2.00 = 2',
  )
})

t.test('coverable tokens: the most output that a balance covers', async t => {
  const rows: readonly (readonly [available: bigint, bounds: Bounds, tokens: number])[] = [
    [2_800_000n, BOUNDS, 100],
    [2_799_999n, BOUNDS, 99],
    [2_008_000n, BOUNDS, 1],
    [2_007_999n, BOUNDS, 0],
    [2_000_000n, BOUNDS, 0],
    [1_999_999n, BOUNDS, 0],
    [0n, BOUNDS, 0],
    [-5n, BOUNDS, 0],
    [10n ** 18n, BOUNDS, 100],
    [2_800_000n, { prompt: 1_000 }, 100],
    [10n ** 18n, { prompt: 0 }, 1_000_000_000],
    [10n ** 18n, { prompt: 0, completion: 7.9 }, 7],
  ]
  for (const [available, bounds, tokens] of rows)
    t.equal(coverableTokens(ruleIn(TEXT), bounds, { at: NOON }, available), tokens, `${available}`)
  t.equal(coverableTokens(ruleIn('free: true'), BOUNDS, { at: NOON }, 0n), 100, 'free')
})
