/** Prices of meters: amounts, currencies, rounding, and meters without a price of their own. */
import { type Row, testCharges } from './price-rows.ts'

const TABLE: readonly Row[] = [
  {
    what: 'price: adds tokens and a search',
    rule: 'price: { input: 2.00 / 1M, output: 8.00 / 1M, web_search: 25 / 1k }',
    meters: { input: 1_204, output: 311, web_search: 1 },
    nanos: 29_896_000n,
    formula: '1,204 input x 2.00/1M + 311 output x 8.00/1M + 1 web search x 25.00/1k = 0.029896',
  },
  {
    what: 'price: converts dollars',
    rule: 'price: { input: 2.00 USD / 1M, output: 8.00 USD / 1M }',
    meters: { input: 1_000_000, output: 1 },
    nanos: 14_400_057_600n,
    formula: '1,000,000 input x 14.40/1M + 1 output x 57.60/1M = 14.4000576',
  },
  {
    what: 'price: accepts the name of its own currency',
    rule: 'price: { calls: 0.5 CNY }',
    meters: {},
    nanos: 500_000_000n,
  },
  {
    what: 'price: converts credits',
    rule: 'price: { seconds: 14 CREDIT }',
    meters: { seconds: 5 },
    nanos: 2_520_000_000n,
  },
  {
    what: 'price: is 0 without usage',
    rule: 'price: { input: 2 / 1M }',
    meters: {},
    nanos: 0n,
    formula: '0',
  },
  {
    what: 'price: is 0 if the rule is free',
    rule: 'free: true',
    meters: { input: 1_000_000, web_search: 9 },
    nanos: 0n,
    formula: '0',
  },
  {
    what: 'price: a line at price 0 is on the receipt',
    rule: 'price: { input: 0, output: 1 / 1M }',
    meters: { input: 9 },
    nanos: 0n,
    formula: '9 input x 0.00 = 0',
  },
  {
    what: 'price: rounds half a nano up',
    rule: 'price: { input: 0.0005 / 1M }',
    meters: { input: 1 },
    nanos: 1n,
  },
  {
    what: 'price: rounds less than half a nano down',
    rule: 'price: { input: 0.000499999 / 1M }',
    meters: { input: 1 },
    nanos: 0n,
  },
  {
    what: 'price: rounds once, not line by line',
    rule: 'price: { input: 0.0004 / 1M, cached: 0.0004 / 1M, output: 0.0004 / 1M }',
    meters: { input: 1, cached: 1, output: 1 },
    nanos: 1n,
  },
  {
    what: 'price: three thirds make a whole',
    rule: 'price: { seconds: 1 / 3, characters: 1 / 3, images: 1 / 3 }',
    meters: { seconds: 1, characters: 1, images: 1 },
    nanos: 1_000_000_000n,
  },
  {
    what: 'price: thinking has the price of output',
    rule: 'price: { input: 1 / 1M, output: 8 / 1M }',
    meters: { output: 311, thinking: 200 },
    nanos: 4_088_000n,
    formula: '511 output (200 thinking) x 8.00/1M = 0.004088',
  },
  {
    what: 'price: thinking can have its own price',
    rule: 'price: { output: 8 / 1M, thinking: 3 / 1M }',
    meters: { output: 100, thinking: 200 },
    nanos: 1_400_000n,
  },
  {
    // LiteLLM #18599 billed only the thinking; #10567 billed none of it.
    what: 'price: thinking without output has the price of output',
    rule: 'price: { output: 8 / 1M }',
    meters: { thinking: 200 },
    nanos: 1_600_000n,
  },
  {
    // LiteLLM #39088 and Bifrost #904 billed cached tokens at the full price.
    what: 'price: cache reads and writes have their own prices',
    rule: 'price: { input: 3 / 1M, cached: 0.3 / 1M, cache_write: 3.75 / 1M, cache_write_1h: 6 / 1M }',
    meters: { input: 10, cached: 1_000, cache_write: 100, cache_write_1h: 50 },
    nanos: 30_000n + 300_000n + 375_000n + 300_000n,
  },
  {
    // new-api #5003: more cached than input tokens made the input negative. Disjoint meters cannot.
    what: 'price: cached tokens without input are priced',
    rule: 'price: { input: 3 / 1M, cached: 0.3 / 1M }',
    meters: { cached: 5_000 },
    nanos: 1_500_000n,
  },
  {
    what: 'price: an hour cache write has the price of a cache write',
    rule: 'price: { input: 3 / 1M, cache_write: 3.75 / 1M }',
    meters: { cache_write_1h: 100 },
    nanos: 375_000n,
    formula: '100 cache write (100 cache write 1h) x 3.75/1M = 0.000375',
  },
  {
    what: 'price: cache meters without prices have the price of input',
    rule: 'price: { input: 3 / 1M }',
    meters: { input: 1, cached: 1, cache_write: 1, cache_write_1h: 1 },
    nanos: 12_000n,
  },
  {
    // LiteLLM #31142, #17410: images and audio at the price of text, without a report.
    what: 'price: audio without a price has that of text, and is unpriced',
    rule: 'price: { input: 4 / 1M, output: 16 / 1M }',
    meters: { audio_input: 100, audio_output: 10 },
    nanos: 560_000n,
    unpriced: ['audio_input', 'audio_output'],
  },
  {
    what: 'price: a tool without a line is unpriced',
    rule: 'price: { input: 2 / 1M }',
    meters: { input: 1, file_search: 3 },
    nanos: 2_000n,
    unpriced: ['file_search'],
  },
  {
    what: 'price: output without a line is unpriced',
    rule: 'price: { input: 2 / 1M }',
    meters: { output: 7, thinking: 1 },
    nanos: 0n,
    unpriced: ['output', 'thinking'],
  },
  {
    what: 'price: a price of calls includes tokens, and no tools',
    rule: 'price: { calls: 0.10 }',
    meters: { input: 5_000, output: 9_000, images: 1, web_search: 2 },
    nanos: 100_000_000n,
    formula: '1 call x 0.10 = 0.1',
    unpriced: ['web_search'],
  },
  {
    what: 'price: a price of images includes their tokens',
    rule: 'price: { images: 0.04 }',
    meters: { images: 2, input: 50, output: 8_000 },
    nanos: 80_000_000n,
  },
  {
    what: 'price: a price of tokens includes images',
    rule: 'price: { input: 1 / 1M, output: 40 / 1M }',
    meters: { images: 2, output: 1_000 },
    nanos: 40_000_000n,
  },
  {
    what: 'price: a price of images includes no seconds',
    rule: 'price: { images: 1 }',
    meters: { seconds: 2 },
    nanos: 0n,
    unpriced: ['seconds'],
  },
  {
    what: 'price: an invalid count costs nothing and is unpriced',
    rule: 'price: { input: 1 / 1M, output: 1 / 1M }',
    meters: { input: -5, cached: 1e18, output: Number.NaN, thinking: 1 },
    nanos: 1_000n,
    unpriced: ['input', 'cached', 'output'],
  },
  {
    what: 'price: a discount halves the sum and rounds it up to a whole credit',
    rule: `price:
  calls: 3 CREDIT
  seconds: 5 CREDIT
  discount: { factor: 0.5, when: { off_peak: true }, step: 1 CREDIT }`,
    meters: { seconds: 2 },
    facts: { off_peak: true },
    nanos: 7n * 36_000_000n,
    formula:
      '2 seconds x 0.18 + 1 call x 0.108 + -0.216 by the discount to 0.5 in steps of 0.036 = 0.252',
  },
  {
    what: 'price: a discount applies only where its condition holds',
    rule: 'price: { seconds: 5 CREDIT, discount: { factor: 0.5, when: { off_peak: true } } }',
    meters: { seconds: 2 },
    nanos: 360_000_000n,
    formula: '2 seconds x 0.18 = 0.36',
  },
  {
    what: 'price: the minimum of the whole applies after a discount',
    rule: 'price: { calls: 1, discount: { factor: 0 }, min: 0.25 }',
    meters: {},
    nanos: 250_000_000n,
  },
  {
    what: 'price: a discount of nothing has no line',
    rule: 'price: { seconds: 1, discount: { factor: 0.5, step: 1 } }',
    meters: {},
    nanos: 0n,
    formula: '0',
  },
]
testCharges(TABLE)
