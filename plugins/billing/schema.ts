/** The options of prices, for editors and the first check of a document. `compileRule` checks and
 *  reads the prices. */
import {
  annotate,
  flag,
  integer,
  json,
  map,
  object,
  ofTypes,
  oneOf,
  oneOrMore,
  type RawOf,
  reading,
  required,
  type Shape,
  schemasOf,
  text,
} from '../../engine/config/shape.ts'
import type { Json } from '../../engine/plugin.ts'
import { ATTRIBUTE } from './condition.ts'
import { METERS } from './meters.ts'

const AMOUNT = ofTypes(
  'An amount, its currency (by default the configured one) and its unit.',
  ['string', 'number'],
  { minimum: 0, examples: ['2.00 USD / 1M', 0.05] },
)
const whole = (description: string) => annotate(AMOUNT, { description, examples: ['0.01 USD'] })

/** Nested tables, one for each attribute that `by` can name. */
const table = (depth: number): Shape<Json> =>
  json('An amount; with `by`, a map from each value of the attribute to one.', {
    type: ['string', 'number', 'object'],
    minimum: 0,
    minProperties: 1,
    additionalProperties: (depth === 1 ? AMOUNT : table(depth - 1)).schema,
    examples: ['2.00 USD / 1M', { '540p': 0.07, '720p': 0.15, default: 0.16 }],
  })

/** One value of `when:` of prices and rules. */
export const WHEN_VALUE = json('A comparison, a value, or a list of values.', {
  type: ['string', 'number', 'boolean', 'array'],
  items: ofTypes('One of the values.', ['string', 'number', 'boolean'], { examples: ['1080p'] })
    .schema,
  minItems: 1,
  examples: ['> 200k', '> 32k <= 200k', true, ['1080p', '4K'], '22:00-06:00 +08:00'],
})
const WHEN = map(
  'The condition of this price: comparisons of meters, prompt and completion; values of attributes; time of day; days of the week. The last line of a meter has no condition.',
  WHEN_VALUE,
  {
    minProperties: 1,
    examples: [
      { prompt: '> 200k' },
      { off_peak: true },
      { time: '00:30-08:30 +08:00' },
      { weekdays: ['sat', 'sun'] },
    ],
  },
)
const LINE = schemasOf({
  price: table(3),
  per: ofTypes('The unit of the price, if the price has none.', ['string', 'integer'], {
    minimum: 1,
    examples: ['1M', '1k', 60],
  }),
  by: oneOrMore(
    'The request attribute, or up to three, by which the price is looked up.',
    text('An attribute.', { pattern: ATTRIBUTE.source, examples: ['quality'] }),
    { minItems: 1, maxItems: 3, examples: ['resolution', ['quality', 'size']] },
  ),
  when: WHEN,
  min: whole('The minimum of the line, if its meter is above zero.'),
  step: whole('The line is rounded up to a multiple of this.'),
})
const DISCOUNT = object(
  'A part of the whole charge, if the condition holds; the minimum applies after it.',
  {
    factor: required(
      ofTypes('The part that is charged, from 0 to 1.', ['number', 'string'], {
        minimum: 0,
        maximum: 1,
        examples: [0.5],
      }),
    ),
    when: WHEN,
    step: whole('The reduced charge is rounded up to a multiple of this.'),
  },
  { examples: [{ factor: 0.5, when: { off_peak: true } }] },
).schema

/** `price:` of a model and of a route. */
export const PRICE = json(
  'The price of each meter, as a map or as a list of lines; of several lines of a meter, the first whose condition holds applies. `discount` and `min` apply to the whole charge.',
  {
    type: ['object', 'array'],
    minProperties: 1,
    propertyNames: { enum: [...METERS, 'discount', 'min'] },
    properties: { discount: DISCOUNT },
    additionalProperties: {
      description: 'An amount, or a line of the price, or several with conditions.',
      type: ['string', 'number', 'object', 'array'],
      minimum: 0,
      required: ['price'],
      additionalProperties: false,
      properties: LINE,
      minItems: 1,
      items: {
        description: 'One of several prices.',
        type: ['string', 'number', 'object'],
        minimum: 0,
        required: ['price'],
        additionalProperties: false,
        properties: LINE,
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
        meter: oneOf('The meter.', METERS, { examples: ['input'] }).schema,
        discount: DISCOUNT,
        ...LINE,
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
  },
)
export const FREE = flag('Calls are free.', { examples: [true] })
export const MAX_CALLS = map(
  'The maximum per call that a hold assumes for meters that a request cannot bound.',
  integer('The maximum in one call.', { minimum: 0, maximum: 1_000_000, examples: [10] }),
  { propertyNames: { enum: METERS }, examples: [{ web_search: 10, code_execution: 5 }] },
)
/** `unpriced:` of a model and of all models. */
export const UNPRICED = oneOf(
  'What happens to a request that offers a hosted tool without a price: its calls cost nothing and are named as unpriced, or the request is refused.',
  ['name', 'refuse'],
  { examples: ['refuse'] },
)
const tierOf = <const E extends string>(what: string, example: E) =>
  text(`The ${what} of requests that name none.`, {
    minLength: 1,
    maxLength: 64,
    examples: [example],
  })
/** `default_tiers:` of an upstream. */
export const DEFAULT_TIERS = object(
  'How this provider serves requests that do not say so, if its project or workspace is not set to the standard. Holds take these prices.',
  {
    service_tier: tierOf('service tier', 'priority'),
    speed: tierOf('speed', 'fast'),
    inference_geo: tierOf('geography', 'us'),
  },
  { examples: [{ service_tier: 'priority' }] },
)
/** `settings.batch.price`. */
export const BATCH_PRICE = reading(
  ofTypes('The part of the price that a request of a batch is charged.', ['number', 'string'], {
    minimum: 0,
    maximum: 1,
    pattern: '^(?:0(?:\\.\\d{1,9})?|1(?:\\.0{1,9})?)$',
    default: 1,
    examples: [0.5],
  }),
  String,
)
/** The price options of a route, which replace those of its models. */
export const BILLING = object(
  'The price of calls of this route. Replaces the price of the model.',
  { price: PRICE, free: FREE, max_calls: MAX_CALLS },
  { minProperties: 1, examples: [{ price: { calls: '0.10 USD' } }, { free: true }] },
)
/** The options of a model, of a route, and of a frozen rule. */
export type BillingOptions = RawOf<typeof BILLING>
