/** JSON Schemas of prices, for editors and the first check of a document. `compileRule` checks the
 *  rest. */
import { ATTRIBUTE } from './condition.ts'
import { METERS } from './meters.ts'

const AMOUNT = {
  description: 'An amount, its currency (by default the configured one) and its unit.',
  type: ['string', 'number'],
  minimum: 0,
  examples: ['2.00 USD / 1M', 0.05],
}
const WHOLE = { ...AMOUNT, description: 'An amount and its currency.', examples: ['0.01 USD'] }

/** Nested tables, one for each attribute that `by` can name. */
const table = (depth: number): object =>
  depth === 0
    ? AMOUNT
    : {
        description: 'An amount; with `by`, a map from each value of the attribute to one.',
        type: ['string', 'number', 'object'],
        minimum: 0,
        minProperties: 1,
        additionalProperties: table(depth - 1),
        examples: ['2.00 USD / 1M', { '540p': 0.07, '720p': 0.15, default: 0.16 }],
      }

const line = {
  price: table(3),
  per: {
    description: 'The unit of the price, where the price has none.',
    type: ['string', 'integer'],
    minimum: 1,
    examples: ['1M', '1k', 60],
  },
  by: {
    description: 'The request attribute, or up to three, by which the price is looked up.',
    type: ['string', 'array'],
    pattern: ATTRIBUTE.source,
    items: {
      description: 'An attribute.',
      type: 'string',
      pattern: ATTRIBUTE.source,
      examples: ['quality'],
    },
    minItems: 1,
    maxItems: 3,
    examples: ['resolution', ['quality', 'size']],
  },
  when: {
    description:
      'The condition of this price: comparisons of meters, prompt and completion; values of attributes; time of day; days of the week. The last line of a meter has no condition.',
    type: 'object',
    minProperties: 1,
    additionalProperties: {
      description: 'A comparison, a value, or a list of values.',
      type: ['string', 'number', 'boolean', 'array'],
      items: {
        description: 'One of the values.',
        type: ['string', 'number', 'boolean'],
        examples: ['1080p'],
      },
      minItems: 1,
      examples: ['> 200k', '> 32k <= 200k', true, ['1080p', '4K'], '22:00-06:00 +08:00'],
    },
    examples: [
      { prompt: '> 200k' },
      { off_peak: true },
      { time: '00:30-08:30 +08:00' },
      { weekdays: ['sat', 'sun'] },
    ],
  },
  min: { ...WHOLE, description: 'The minimum of the line, where its meter is above zero.' },
  step: { ...WHOLE, description: 'The line is rounded up to a multiple of this.' },
}

const discount = {
  description:
    'A part of the whole charge, where the condition holds; the minimum applies after it.',
  type: 'object',
  required: ['factor'],
  additionalProperties: false,
  properties: {
    factor: {
      description: 'The part that is charged, from 0 to 1.',
      type: ['number', 'string'],
      minimum: 0,
      maximum: 1,
      examples: [0.5],
    },
    when: line.when,
    step: { ...WHOLE, description: 'The reduced charge is rounded up to a multiple of this.' },
  },
  examples: [{ factor: 0.5, when: { off_peak: true } }],
}

/** `price:` of a model and of a route. */
export const PRICE = {
  description:
    'The price of each meter, as a map or as a list of lines; of several lines of a meter, the first whose condition holds applies. `discount` and `min` apply to the whole charge.',
  type: ['object', 'array'],
  minProperties: 1,
  propertyNames: { enum: [...METERS, 'discount', 'min'] },
  properties: { discount },
  additionalProperties: {
    description: 'An amount, or a line of the price, or several with conditions.',
    type: ['string', 'number', 'object', 'array'],
    minimum: 0,
    required: ['price'],
    additionalProperties: false,
    properties: line,
    minItems: 1,
    items: {
      description: 'One of several prices.',
      type: ['string', 'number', 'object'],
      minimum: 0,
      required: ['price'],
      additionalProperties: false,
      properties: line,
      examples: [{ price: '2.50 / 1M', when: { prompt: '> 200k' } }, '1.25 / 1M'],
    },
    examples: ['2.00 USD / 1M', { by: 'resolution', price: { '720p': 0.15, default: 0.16 } }],
  },
  minItems: 1,
  items: {
    description: 'A line, or the discount or the minimum of the whole.',
    type: 'object',
    anyOf: [
      { required: ['meter', 'price'] },
      { required: ['min'], maxProperties: 1 },
      { required: ['discount'], maxProperties: 1 },
    ],
    additionalProperties: false,
    properties: {
      meter: { description: 'The meter.', enum: METERS, examples: ['input'] },
      discount,
      ...line,
    },
    examples: [{ meter: 'input', price: '2.00 USD', per: '1M' }, { min: '0.001 USD' }],
  },
  examples: [
    { input: '2.00 USD / 1M', output: '8.00 USD / 1M' },
    [
      { meter: 'input', price: 2.5, per: '1M', when: { prompt: '> 200k' } },
      { meter: 'input', price: 1.25, per: '1M' },
      { meter: 'output', price: 10, per: '1M' },
    ],
  ],
}
export const FREE = { description: 'Calls are free.', type: 'boolean', examples: [true] }
export const MAX_CALLS = {
  description: 'The maximum per call that a hold assumes for meters that a request cannot bound.',
  type: 'object',
  propertyNames: { enum: METERS },
  additionalProperties: {
    description: 'The maximum in one call.',
    type: 'integer',
    minimum: 0,
    maximum: 1_000_000,
    examples: [10],
  },
  examples: [{ web_search: 10, code_execution: 5 }],
}
/** `unpriced:` of a model and of all models. */
export const UNPRICED = {
  description:
    'What happens to a request that offers a hosted tool without a price: its calls cost nothing and are named as unpriced, or the request is refused.',
  enum: ['name', 'refuse'],
  examples: ['refuse'],
}
/** `tiers:` of a model and of all models. */
export const TIER_RULE = {
  description:
    'What happens to a request for a service tier, a speed or a geography that the model does not price: drop: it is sent without, which x-tollgate-dropped names; refuse: it is refused; pass: it is sent, and costs what the standard costs.',
  enum: ['drop', 'refuse', 'pass'],
  examples: ['refuse'],
}
const tierOf = (what: string, example: string) => ({
  description: `The ${what} of requests that name none.`,
  type: 'string',
  minLength: 1,
  maxLength: 64,
  examples: [example],
})
/** `default_tiers:` of an upstream. */
export const DEFAULT_TIERS = {
  description:
    'How this provider serves requests that do not say so, where its project or workspace is not set to the standard. Holds take these prices.',
  type: 'object',
  additionalProperties: false,
  properties: {
    service_tier: tierOf('service tier', 'priority'),
    speed: tierOf('speed', 'fast'),
    inference_geo: tierOf('geography', 'us'),
  },
  examples: [{ service_tier: 'priority' }],
}
/** The price options of a route, which replace those of its models. */
export const BILLING = {
  description: 'The price of calls of this route. Replaces the price of the model.',
  type: 'object',
  minProperties: 1,
  additionalProperties: false,
  properties: { price: PRICE, free: FREE, max_calls: MAX_CALLS },
  examples: [{ price: { calls: '0.10 USD' } }, { free: true }],
}
