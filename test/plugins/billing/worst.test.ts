/** What a hold takes: the dearest of what may still happen, and by name what nothing bounds and what has no price. */
import t from 'tap'
import type { Bounds } from '../../../plugins/billing/bounds.ts'
import { printFormula } from '../../../plugins/billing/formula.ts'
import type { Attribute } from '../../../plugins/billing/usage.ts'
import { coverableTokens, quote, worstCase } from '../../../plugins/billing/worst-case.ts'
import { NOON, ruleIn } from '../../helpers/billing.ts'

interface Row {
  readonly what: string
  readonly rule: string
  readonly bounds?: Bounds
  readonly facts?: Readonly<Record<string, Attribute>>
  readonly at?: number
  readonly nanos: bigint
  readonly unbounded?: readonly string[]
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
const some = { prompt: 1_000, completion: 100 }

const TABLE: readonly Row[] = [
  { what: 'read and written', rule: TEXT, bounds: some, nanos: 2_800_000n },
  {
    what: 'what is read is one kind or another, not all of them',
    rule: WRITES,
    bounds: some,
    nanos: 6_000_000n,
  },
  {
    what: 'a kind that the request rules out',
    rule: WRITES,
    bounds: { ...some, meters: { cache_write_1h: 0 } },
    nanos: 3_750_000n,
  },
  {
    what: 'a kind with a bound of its own fills up first, the rest follows',
    rule: WRITES,
    bounds: { ...some, meters: { cache_write_1h: 100 } },
    nanos: 600_000n + 900n * 3_750n,
  },
  {
    what: 'a tier that may be reached',
    rule: TIERS,
    bounds: { prompt: 200_001 },
    nanos: 1_000_005_000n,
  },
  { what: 'a tier that cannot', rule: TIERS, bounds: { prompt: 200_000 }, nanos: 400_000_000n },
  {
    what: 'a cheaper tier is not reckoned with',
    rule: CHEAPER,
    bounds: { prompt: 200_001 },
    nanos: 400_002_000n,
  },
  {
    what: 'nothing bounds the input',
    rule: TEXT,
    bounds: { completion: 100 },
    nanos: 800_000n,
    unbounded: ['input', 'cached'],
  },
  {
    what: 'nothing bounds anything',
    rule: TEXT,
    nanos: 0n,
    unbounded: ['input', 'cached', 'output'],
  },
  {
    what: 'what costs nothing needs no bound',
    rule: 'price: { input: 0, calls: 1 }',
    nanos: 1_000_000_000n,
  },
  ...[Number.NaN, -1, Number.POSITIVE_INFINITY, 1e13].map(prompt => ({
    ...{ what: `${prompt} is no bound`, rule: 'price: { input: 2 / 1M }', bounds: { prompt } },
    ...{ nanos: 0n, unbounded: ['input'] },
  })),
  { what: 'searches by max_calls', rule: SEARCH, nanos: 250_000_000n },
  {
    what: 'searches as the request says',
    rule: SEARCH,
    bounds: { meters: { web_search: 3 } },
    nanos: 75_000_000n,
  },
  { what: 'no searches', rule: SEARCH, bounds: { meters: { web_search: 0 } }, nanos: 0n },
  {
    what: 'searches without end',
    rule: 'price: { web_search: 25 / 1k }',
    nanos: 0n,
    unbounded: ['web_search'],
  },
  {
    what: 'a tool that is asked for and has no line',
    rule: TEXT,
    bounds: { ...some, meters: { web_search: 1, file_search: 0 } },
    nanos: 2_800_000n,
    unpriced: ['web_search'],
  },
  {
    what: 'a known size',
    rule: SIZES,
    bounds: { meters: { images: 2 } },
    facts: { size: 'small' },
    nanos: 2_000_000_000n,
  },
  {
    what: 'a size nobody wrote down',
    rule: SIZES,
    bounds: { meters: { images: 2 } },
    facts: { size: 'odd' },
    nanos: 6_000_000_000n,
  },
  {
    what: 'a size yet to be chosen',
    rule: SIZES,
    bounds: { meters: { images: 2 } },
    nanos: 8_000_000_000n,
  },
  {
    what: 'a known size in a table with holes',
    rule: HOLES,
    bounds: { meters: { images: 2 } },
    facts: { size: 'small' },
    nanos: 2_000_000_000n,
  },
  {
    what: 'a size with no price',
    rule: HOLES,
    bounds: { meters: { images: 2 } },
    facts: { size: '8K' },
    nanos: 0n,
    unpriced: ['images'],
  },
  {
    what: 'a size that may come to have no price',
    rule: HOLES,
    bounds: { meters: { images: 2 } },
    nanos: 8_000_000_000n,
    unpriced: ['images'],
  },
  {
    what: 'a minimum alone',
    rule: 'price: { seconds: { price: 0.05, min: 0.25 } }',
    bounds: { meters: { seconds: 8 } },
    nanos: 400_000_000n,
  },
  {
    // The cheap kind may take a token, and its minimum, from the dear one.
    what: 'a minimum among others',
    rule: 'price: { input: [{ price: 10, when: { hd: true } }, { price: 1, min: 5 }], cached: 9 }',
    bounds: { prompt: 100 },
    nanos: 1_005_000_000_000n,
  },
  { what: 'the time is known', rule: NIGHT, nanos: 2_000_000_000n },
  { what: 'also at night', rule: NIGHT, at: NOON + 10 * 3_600_000, nanos: 1_000_000_000n },
  {
    what: 'the least of the whole',
    rule: 'price: { calls: 0.001, min: 0.5 }',
    nanos: 500_000_000n,
  },
  { what: 'free', rule: 'free: true', nanos: 0n },
]
for (const { what, rule, bounds = {}, facts = {}, at = NOON, ...expected } of TABLE)
  t.test(what, async t => {
    const { lines, ...held } = quote(ruleIn(rule), bounds, { at, attributes: facts })
    t.same(worstCase(ruleIn(rule), bounds, { at, attributes: facts }), held)
    t.same(held, { unbounded: [], unpriced: [], ...expected })
    const sum = lines.reduce((total, line) => total + BigInt(line.nanos), 0n)
    t.equal(sum, held.nanos, 'the lines add up to it')
  })

t.test('what a call may cost, as a sentence', async t => {
  const says = (rule: string, bounds: Bounds): string =>
    printFormula(quote(ruleIn(rule), bounds, { at: NOON }).lines)
  t.equal(says(TEXT, some), '1,000 input x 2.00/1M + 100 output x 8.00/1M = 0.0028')
  t.equal(says(SIZES, { meters: { images: 2 } }), '2 images (large) x 4.00 = 8')
  t.equal(
    says('price: { seconds: { price: 0.05, min: 1 }, min: 2 }', { meters: { seconds: 8 } }),
    '8 seconds x 0.05, at least 1.00 + 1 up to the minimum of 2.00 = 2',
  )
})

t.test('how much may be written for what there is', async t => {
  const rows: readonly (readonly [available: bigint, bounds: Bounds, tokens: number])[] = [
    [2_800_000n, some, 100],
    [2_799_999n, some, 99],
    [2_008_000n, some, 1],
    [2_007_999n, some, 0],
    [2_000_000n, some, 0],
    [1_999_999n, some, 0],
    [0n, some, 0],
    [-5n, some, 0],
    [10n ** 18n, some, 100],
    [2_800_000n, { prompt: 1_000 }, 100],
    [10n ** 18n, { prompt: 0 }, 1_000_000_000],
    [10n ** 18n, { prompt: 0, completion: 7.9 }, 7],
  ]
  for (const [available, bounds, tokens] of rows)
    t.equal(coverableTokens(ruleIn(TEXT), bounds, { at: NOON }, available), tokens, `${available}`)
  t.equal(coverableTokens(ruleIn('free: true'), some, { at: NOON }, 0n), 100, 'free')
})
