/** What meters cost: amounts, currencies, roundings, and meters that have no price of their own. */
import { charged, type Row } from '../../helpers/billing-rows.ts'

const TABLE: readonly Row[] = [
  {
    what: 'tokens and a search',
    rule: 'price: { input: 2.00 / 1M, output: 8.00 / 1M, web_search: 25 / 1k }',
    meters: { input: 1_204, output: 311, web_search: 1 },
    nanos: 29_896_000n,
    says: '1,204 input x 2.00/1M + 311 output x 8.00/1M + 1 web search x 25.00/1k = 0.029896',
  },
  {
    what: 'dollars, converted',
    rule: 'price: { input: 2.00 USD / 1M, output: 8.00 USD / 1M }',
    meters: { input: 1_000_000, output: 1 },
    nanos: 14_400_057_600n,
    says: '1,000,000 input x 14.40/1M + 1 output x 57.60/1M = 14.4000576',
  },
  {
    what: 'its own currency by name',
    rule: 'price: { calls: 0.5 CNY }',
    meters: {},
    nanos: 500_000_000n,
  },
  {
    what: 'credits',
    rule: 'price: { seconds: 14 CREDIT }',
    meters: { seconds: 5 },
    nanos: 2_520_000_000n,
  },
  { what: 'nothing used', rule: 'price: { input: 2 / 1M }', meters: {}, nanos: 0n, says: '0' },
  {
    what: 'free',
    rule: 'free: true',
    meters: { input: 1_000_000, web_search: 9 },
    nanos: 0n,
    says: '0',
  },
  {
    what: 'price 0 is said on the receipt',
    rule: 'price: { input: 0, output: 1 / 1M }',
    meters: { input: 9 },
    nanos: 0n,
    says: '9 input x 0.00 = 0',
  },
  {
    what: 'half a nano is rounded up',
    rule: 'price: { input: 0.0005 / 1M }',
    meters: { input: 1 },
    nanos: 1n,
  },
  {
    what: 'less than half is not',
    rule: 'price: { input: 0.000499999 / 1M }',
    meters: { input: 1 },
    nanos: 0n,
  },
  {
    what: 'rounded once, not line by line',
    rule: 'price: { input: 0.0004 / 1M, cached: 0.0004 / 1M, output: 0.0004 / 1M }',
    meters: { input: 1, cached: 1, output: 1 },
    nanos: 1n,
  },
  {
    what: 'a third does not get lost',
    rule: 'price: { seconds: 1 / 3, characters: 1 / 3, images: 1 / 3 }',
    meters: { seconds: 1, characters: 1, images: 1 },
    nanos: 1_000_000_000n,
  },
  {
    what: 'thinking as output',
    rule: 'price: { input: 1 / 1M, output: 8 / 1M }',
    meters: { output: 311, thinking: 200 },
    nanos: 4_088_000n,
    says: '511 output (200 thinking) x 8.00/1M = 0.004088',
  },
  {
    what: 'thinking at its own price',
    rule: 'price: { output: 8 / 1M, thinking: 3 / 1M }',
    meters: { output: 100, thinking: 200 },
    nanos: 1_400_000n,
  },
  {
    // LiteLLM #18599: only the thinking was billed; #10567: it was not billed at all.
    what: 'thinking alone',
    rule: 'price: { output: 8 / 1M }',
    meters: { thinking: 200 },
    nanos: 1_600_000n,
  },
  {
    // LiteLLM #39088, Bifrost #904: cached at the full price.
    what: 'cached and written, each at its own price',
    rule: 'price: { input: 3 / 1M, cached: 0.3 / 1M, cache_write: 3.75 / 1M, cache_write_1h: 6 / 1M }',
    meters: { input: 10, cached: 1_000, cache_write: 100, cache_write_1h: 50 },
    nanos: 30_000n + 300_000n + 375_000n + 300_000n,
  },
  {
    // new-api #5003: more cached than read made the input negative. Disjoint meters cannot.
    what: 'more cached than new',
    rule: 'price: { input: 3 / 1M, cached: 0.3 / 1M }',
    meters: { cached: 5_000 },
    nanos: 1_500_000n,
  },
  {
    what: 'written for an hour without a price of its own',
    rule: 'price: { input: 3 / 1M, cache_write: 3.75 / 1M }',
    meters: { cache_write_1h: 100 },
    nanos: 375_000n,
    says: '100 cache write (100 cache write 1h) x 3.75/1M = 0.000375',
  },
  {
    what: 'no cache prices at all',
    rule: 'price: { input: 3 / 1M }',
    meters: { input: 1, cached: 1, cache_write: 1, cache_write_1h: 1 },
    nanos: 12_000n,
  },
  {
    // LiteLLM #31142, #17410: pictures and sounds at the price of text, and nobody heard of it.
    what: 'sounds without a price: as input, and named',
    rule: 'price: { input: 4 / 1M, output: 16 / 1M }',
    meters: { audio_input: 100, audio_output: 10 },
    nanos: 560_000n,
    unpriced: ['audio_input', 'audio_output'],
  },
  {
    what: 'a tool without a line is named',
    rule: 'price: { input: 2 / 1M }',
    meters: { input: 1, file_search: 3 },
    nanos: 2_000n,
    unpriced: ['file_search'],
  },
  {
    what: 'output without a line is named',
    rule: 'price: { input: 2 / 1M }',
    meters: { output: 7, thinking: 1 },
    nanos: 0n,
    unpriced: ['output', 'thinking'],
  },
  {
    what: 'a price of the call includes its tokens, never its tools',
    rule: 'price: { calls: 0.10 }',
    meters: { input: 5_000, output: 9_000, images: 1, web_search: 2 },
    nanos: 100_000_000n,
    says: '1 call x 0.10 = 0.1',
    unpriced: ['web_search'],
  },
  {
    what: 'a price of pictures includes the tokens they took',
    rule: 'price: { images: 0.04 }',
    meters: { images: 2, input: 50, output: 8_000 },
    nanos: 80_000_000n,
  },
  {
    what: 'a price of tokens includes the pictures made of them',
    rule: 'price: { input: 1 / 1M, output: 40 / 1M }',
    meters: { images: 2, output: 1_000 },
    nanos: 40_000_000n,
  },
  {
    what: 'seconds are not in a price of pictures',
    rule: 'price: { images: 1 }',
    meters: { seconds: 2 },
    nanos: 0n,
    unpriced: ['seconds'],
  },
  {
    what: 'nonsense counts nothing, and is named',
    rule: 'price: { input: 1 / 1M, output: 1 / 1M }',
    meters: { input: -5, cached: 1e18, output: Number.NaN, thinking: 1 },
    nanos: 1_000n,
    unpriced: ['input', 'cached', 'output'],
  },
]
charged(TABLE)
