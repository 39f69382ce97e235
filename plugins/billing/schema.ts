/** The language of prices as JSON Schemas, for editors and first checks. What they cannot see, `compileRule` does. */
import { ATTRIBUTE } from './condition.ts'
import { METERS } from './meters.ts'

const AMOUNT = {
  description: 'An amount, its currency unless it is the configured one, and per how many.',
  type: ['string', 'number'],
  minimum: 0,
  examples: ['2.00 USD / 1M', 0.05],
}
const WHOLE = { ...AMOUNT, description: 'An amount and its currency.', examples: ['0.01 USD'] }

/** A table for each attribute that `by` can name, one in another. */
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
    description: 'Per how many, where the price does not say it.',
    type: ['string', 'integer'],
    minimum: 1,
    examples: ['1M', '1k', 60],
  },
  by: {
    description: 'The attribute, or up to three, that the price is looked up with.',
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
      'When this is the price: meters, prompt and completion compared, attributes equal, time of day, days of the week. The last line of a meter has none.',
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
  min: { ...WHOLE, description: 'What it comes to at least, once there is any of its meter.' },
  step: { ...WHOLE, description: 'It is rounded up to a multiple of this.' },
}

/** `price:` of a model and of a route. */
export const PRICE = {
  description:
    'What each meter costs, as a map or as a list of lines; the first line of a meter whose condition holds counts. min: the least of the whole.',
  type: ['object', 'array'],
  minProperties: 1,
  propertyNames: { enum: [...METERS, 'min'] },
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
    description: 'A line, or the least of the whole.',
    type: 'object',
    anyOf: [{ required: ['meter', 'price'] }, { required: ['min'], maxProperties: 1 }],
    additionalProperties: false,
    properties: {
      meter: { description: 'What is counted.', enum: METERS, examples: ['input'] },
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
export const FREE = { description: 'It costs nothing.', type: 'boolean', examples: [true] }
export const MAX_CALLS = {
  description: 'What a hold reckons with of a meter that no request bounds.',
  type: 'object',
  propertyNames: { enum: METERS },
  additionalProperties: {
    description: 'The most of it in one call.',
    type: 'integer',
    minimum: 0,
    maximum: 1_000_000,
    examples: [10],
  },
  examples: [{ web_search: 10, code_execution: 5 }],
}
/** `billing:` of a route: in place of what its models say. */
export const BILLING = {
  description: 'What a call of this route costs, whatever its model says.',
  type: 'object',
  minProperties: 1,
  additionalProperties: false,
  properties: { price: PRICE, free: FREE, max_calls: MAX_CALLS },
  examples: [{ price: { calls: '0.10 USD' } }, { free: true }],
}
