/** Price lines: tables, conditions, minimums and steps. */
import { NOON } from '../../helpers/billing.ts'
import { charged, type Row } from '../../helpers/billing-rows.ts'

const TIERS = `
price:
  input: [{ price: 2.50 / 1M, when: { prompt: '> 200k' } }, 1.25 / 1M]
  cached: [{ price: 0.625 / 1M, when: { prompt: '> 200k' } }, 0.31 / 1M]
  output: [{ price: 15 / 1M, when: { prompt: '> 200k' } }, 10 / 1M]`
const VIDEO = `
price:
  seconds:
    - { by: resolution, price: { 540p: 7, 720p: 15, default: 16 }, when: { off_peak: true } }
    - { by: resolution, price: { 540p: 14, 720p: 30, 1080p: 32, default: 32 } }`
const IMAGES = `
price:
  images:
    by: [quality, size]
    price:
      low: { 1024x1024: 0.011, default: 0.016 }
      high: { 1024x1024: 0.167, default: 0.25 }
      default: { default: 0.25 }`
const NIGHT = `
price:
  input: [{ price: 1 / 1M, when: { time: '22:00-06:00 +08:00' } }, 2 / 1M]`
const at = (hour: number, minute = 0): number => NOON + ((hour - 12) * 60 + minute) * 60_000

const TABLE: readonly Row[] = [
  {
    what: 'tier: the base price applies up to its limit',
    rule: TIERS,
    meters: { input: 200_000 },
    nanos: 250_000_000n,
  },
  {
    what: 'tier: counts cached tokens, and applies to all tokens',
    rule: TIERS,
    meters: { input: 1, cached: 200_000, output: 1 },
    nanos: 2_500n + 125_000_000n + 15_000n,
  },
  {
    what: 'table: looks up the price by resolution',
    rule: VIDEO,
    meters: { seconds: 5 },
    facts: { resolution: '720p' },
    nanos: 150_000_000_000n,
    says: '5 seconds (720p) x 30.00 = 150',
  },
  {
    what: 'condition: an off-peak flag selects its line',
    rule: VIDEO,
    meters: { seconds: 5 },
    facts: { resolution: '540p', off_peak: true },
    nanos: 35_000_000_000n,
  },
  {
    what: 'condition: an off-peak flag can be a text',
    rule: VIDEO,
    meters: { seconds: 5 },
    facts: { resolution: '540p', off_peak: 'true' },
    nanos: 35_000_000_000n,
  },
  {
    what: 'table: a missing resolution has the default price',
    rule: VIDEO,
    meters: { seconds: 1.5 },
    facts: {},
    nanos: 48_000_000_000n,
    says: '1.5 seconds (default) x 32.00 = 48',
  },
  {
    what: 'table: a value that is a member of every object has the default price',
    rule: VIDEO,
    meters: { seconds: 1 },
    facts: { resolution: 'constructor' },
    nanos: 32_000_000_000n,
  },
  {
    what: 'table: a value without a price and default is unpriced',
    rule: 'price: { seconds: { by: resolution, price: { 720p: 30 } } }',
    meters: { seconds: 1 },
    facts: { resolution: '8K' },
    nanos: 0n,
    unpriced: ['seconds'],
  },
  {
    what: 'table: looks up the price by two attributes',
    rule: IMAGES,
    meters: { images: 3 },
    facts: { quality: 'high', size: '1024x1024' },
    nanos: 501_000_000n,
    says: '3 images (high, 1024x1024) x 0.167 = 0.501',
  },
  {
    what: 'table: an unknown second attribute has the default of the first',
    rule: IMAGES,
    meters: { images: 1 },
    facts: { quality: 'low', size: '1x1' },
    nanos: 16_000_000n,
  },
  {
    what: 'table: an unknown first attribute has the default',
    rule: IMAGES,
    meters: { images: 1 },
    facts: { size: '1024x1024' },
    nanos: 250_000_000n,
  },
  {
    what: 'lines: a price of calls and one of seconds add up',
    rule: 'price: { calls: 8 CREDIT, seconds: 2 CREDIT }',
    meters: { seconds: 5 },
    nanos: 648_000_000n,
  },
  {
    what: 'step: rounds a line up to a credit',
    rule: 'price: { calls: 5 CREDIT, seconds: { price: 2.5 CREDIT, step: 1 CREDIT } }',
    meters: { seconds: 3 },
    nanos: 468_000_000n,
    says: '3 seconds x 0.09 in steps of 0.036 + 1 call x 0.18 = 0.468',
  },
  {
    what: 'step: charges for each started 100 characters',
    rule: 'price: { characters: { price: 1 / 100, step: 1 } }',
    meters: { characters: 101 },
    nanos: 2_000_000_000n,
  },
  {
    what: 'line minimum: applies to a smaller amount',
    rule: 'price: { seconds: { price: 0.05, min: 0.25 }, input: 1 / 1M }',
    meters: { seconds: 2, input: 0 },
    nanos: 250_000_000n,
    says: '2 seconds x 0.05, at least 0.25 = 0.25',
  },
  {
    what: 'line minimum: does not apply to a larger amount',
    rule: 'price: { seconds: { price: 0.05, min: 0.25 } }',
    meters: { seconds: 6 },
    nanos: 300_000_000n,
    says: '6 seconds x 0.05 = 0.3',
  },
  {
    what: 'line minimum: does not apply without its meter',
    rule: 'price: { seconds: { price: 0.05, min: 0.25 }, input: 1 / 1M }',
    meters: { input: 1 },
    nanos: 1_000n,
  },
  {
    what: 'minimum: applies to a smaller charge',
    rule: 'price: { input: 1 / 1M, min: 0.01 }',
    meters: { input: 1_000 },
    nanos: 10_000_000n,
    says: '1,000 input x 1.00/1M + 0.009 up to the minimum of 0.01 = 0.01',
  },
  {
    what: 'minimum: can be in dollars, in a list',
    rule: 'price: [{ meter: input, price: 1, per: 1M }, { min: 0.01 USD }]',
    meters: { input: 1 },
    nanos: 72_000_000n,
  },
  {
    // As in one-api and new-api: without tokens there is no charge.
    what: 'minimum: does not apply without usage',
    rule: 'price: { input: 1 / 1M, min: 0.01 }',
    meters: {},
    nanos: 0n,
  },
  {
    what: 'time of day: the day price applies at noon',
    rule: NIGHT,
    meters: { input: 1_000_000 },
    at: at(12),
    nanos: 2_000_000_000n,
  },
  {
    what: 'time of day: the day price applies until the range begins',
    rule: NIGHT,
    meters: { input: 1_000_000 },
    at: at(13, 59),
    nanos: 2_000_000_000n,
  },
  {
    what: 'time of day: the night price applies from the first minute',
    rule: NIGHT,
    meters: { input: 1_000_000 },
    at: at(14),
    nanos: 1_000_000_000n,
  },
  {
    what: 'time of day: the night price applies past midnight',
    rule: NIGHT,
    meters: { input: 1_000_000 },
    at: at(21, 59),
    nanos: 1_000_000_000n,
  },
  {
    what: 'time of day: the range excludes its end',
    rule: NIGHT,
    meters: { input: 1_000_000 },
    at: at(22),
    nanos: 2_000_000_000n,
  },
  {
    what: 'condition: bounds a meter on both sides, and an attribute',
    rule: `price: { images: [{ price: 1, when: { images: '> 2 <= 4', duration: '>= 5' } }, 2] }`,
    meters: { images: 3 },
    facts: { duration: '5' },
    nanos: 3_000_000_000n,
  },
  {
    what: 'condition: accepts one of several values',
    rule: 'price: { images: [{ price: 1, when: { resolution: [2K, 4K] } }, 2] }',
    meters: { images: 1 },
    facts: { resolution: '4K' },
    nanos: 1_000_000_000n,
  },
  {
    what: 'condition: an absent flag is false',
    rule: 'price: { images: [{ price: 1, when: { hd: false } }, 2] }',
    meters: { images: 1 },
    nanos: 1_000_000_000n,
  },
  {
    what: 'condition: an absent flag named like an object member is false',
    rule: 'price: { images: [{ price: 1, when: { constructor: false } }, 2] }',
    meters: { images: 1 },
    nanos: 1_000_000_000n,
  },
]
charged(TABLE)
