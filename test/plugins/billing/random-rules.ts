/** Generates random rules and calls: every option of the price language, with limits and quantities
 *  that are likely to meet. */
import type { Json } from '../../../engine/plugin.ts'
import { METERS } from '../../../plugins/billing/meters.ts'
import type { BillingOptions } from '../../../plugins/billing/schema.ts'
import type { Attribute } from '../../../plugins/billing/usage.ts'
import type { Meter, Meters } from '../../../plugins/slots.ts'
import fc from '../../helpers/property.ts'

export type Prices = string | { readonly [key: string]: Prices }
export interface LineOptions {
  readonly meter: Meter
  readonly price: Prices
  readonly by?: readonly string[]
  readonly when?: Readonly<Record<string, unknown>>
  readonly min?: string
  readonly step?: string
}
export interface RuleOptions {
  readonly lines: readonly LineOptions[]
  readonly min?: string
  readonly discount?: DiscountOptions
}
export interface DiscountOptions {
  readonly factor: string
  readonly when?: Readonly<Record<string, unknown>>
  readonly step?: string
}
export interface Call {
  readonly meters: Readonly<Partial<Record<Meter, string>>>
  readonly attributes: Readonly<Record<string, Attribute>>
  readonly at: number
}
/** Returns a list of lines, or the equivalent map of meters. */
export const asOptions = ({ lines, min, discount }: RuleOptions, map: boolean): BillingOptions => {
  const whole = { ...(min !== undefined && { min }), ...(discount && { discount }) }
  const wholeLines = Object.entries(whole).map(([key, value]) => ({ [key]: value }))
  if (!map) return { price: [...lines, ...wholeLines] as unknown as Json }
  const meters = Map.groupBy(lines, ({ meter }) => meter)
  const entries = [...meters].map(([meter, each]) => [
    meter,
    each.map(({ meter: _, ...line }) => line),
  ])
  return { price: { ...Object.fromEntries(entries), ...whole } }
}
export const metersOf = ({ meters }: Call): Meters =>
  Object.fromEntries(Object.entries(meters).map(([meter, text]) => [meter, Number(text)]))

const decimal = (most: number, places: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(most), fc.nat(places), fc.nat(10 ** places - 1))
    .map(([integer, digits, decimals]) =>
      digits === 0
        ? `${integer}`
        : `${integer}.${String(decimals).padStart(places, '0').slice(0, digits)}`,
    )
const code = fc.constantFrom('', '', '', ' USD', ' EUR', ' CREDIT')
const per = fc.constantFrom('', ' / 1M', ' / 1M', ' / 1k', ' / 60', ' / 7', ' / 3')
const amount = fc.tuple(decimal(20, 9), code).map(parts => parts.join(''))
const price = fc.tuple(amount, per).map(parts => parts.join(''))

const table = (keys: readonly string[], inner: fc.Arbitrary<Prices>): fc.Arbitrary<Prices> =>
  fc
    .tuple(
      fc.subarray([...keys, 'default'], { minLength: 1 }),
      fc.array(inner, { minLength: 4, maxLength: 4 }),
    )
    .map(([subset, prices]) => Object.fromEntries(subset.map((key, i) => [key, prices[i] ?? '1'])))
const QUALITIES = ['low', 'high']
const SIZES = ['small', '1024']
const priceOptions: fc.Arbitrary<Pick<LineOptions, 'price' | 'by'>> = fc.oneof(
  { weight: 3, arbitrary: price.map(each => ({ price: each })) },
  table(QUALITIES, price).map(each => ({ by: ['quality'], price: each })),
  table(QUALITIES, table(SIZES, price)).map(each => ({ by: ['quality', 'size'], price: each })),
)

const limit = fc.nat(400)
const comparison = fc.oneof(
  fc.tuple(fc.constantFrom('>', '>=', '<='), limit).map(([sign, each]) => `${sign} ${each}`),
  fc.tuple(limit, limit).map(([low, more]) => `> ${low} <= ${low + more + 1}`),
)
const clock = (minutes: number): string =>
  [minutes / 60, minutes % 60].map(each => String(Math.floor(each)).padStart(2, '0')).join(':')
const zone = fc.constantFrom('', ' +08:00', ' -03:30', ' UTC')
const time = fc
  .tuple(fc.nat(1_439), fc.nat(1_438), zone)
  .map(([from, long, zone]) => `${clock(from)}-${clock((from + long + 1) % 1_440)}${zone}`)
const weekdays = fc.oneof(
  fc.subarray(['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'], { minLength: 1, maxLength: 6 }),
  fc.tuple(fc.constantFrom('mon-fri', 'fri-sun, wed', 'sat, sun'), zone).map(each => each.join('')),
)
/** `byCounts`: whether a condition may depend on the counts of the call. */
const condition = (byCounts: boolean): fc.Arbitrary<readonly [string, unknown]> =>
  fc.oneof(
    ...(byCounts
      ? [fc.tuple(fc.constantFrom('prompt', 'completion', 'input', 'seconds', 'calls'), comparison)]
      : []),
    fc.tuple(fc.constant('duration'), comparison),
    fc.tuple(fc.constant('off_peak'), fc.boolean()),
    fc.tuple(fc.constant('quality'), fc.constantFrom('low', ['low', 'odd'])),
    fc.tuple(fc.constant('time'), time),
    fc.tuple(fc.constant('weekdays'), weekdays),
  )
const when = (byCounts: boolean) =>
  fc
    .array(condition(byCounts), { minLength: 1, maxLength: 2 })
    .map(each => Object.fromEntries(each))

const line = (conditional: boolean, byCounts: boolean): fc.Arbitrary<Omit<LineOptions, 'meter'>> =>
  fc
    .tuple(
      priceOptions,
      conditional ? when(byCounts) : fc.constant(undefined),
      fc.option(amount, { freq: 6, nil: undefined }),
      fc.option(amount, { freq: 6, nil: undefined }),
    )
    .map(([one, condition, min, step]) => ({
      ...one,
      ...(condition && { when: condition }),
      ...(min !== undefined && { min }),
      ...(step !== undefined && { step }),
    }))

const discount = (byCounts: boolean): fc.Arbitrary<DiscountOptions> =>
  fc
    .tuple(
      fc.constantFrom('0', '0.5', '0.123456789', '1'),
      fc.option(when(byCounts), { nil: undefined }),
      fc.option(amount, { nil: undefined }),
    )
    .map(([factor, condition, step]) => ({
      factor,
      ...(condition && { when: condition }),
      ...(step !== undefined && { step }),
    }))

export const rules = ({ counted: byCounts = true } = {}): fc.Arbitrary<RuleOptions> =>
  fc
    .tuple(
      fc
        .subarray([...METERS], { minLength: 1, maxLength: 8 })
        .chain(meters =>
          fc.tuple(
            ...meters.map(meter =>
              fc
                .tuple(fc.array(line(true, byCounts), { maxLength: 2 }), line(false, byCounts))
                .map(([some, last]) => [...some, last].map(each => ({ meter, ...each }))),
            ),
          ),
        ),
      fc.option(amount, { freq: 4, nil: undefined }),
      fc.option(discount(byCounts), { freq: 4, nil: undefined }),
    )
    .map(([lines, min, reduction]) => ({
      lines: lines.flat(),
      ...(min !== undefined && { min }),
      ...(reduction && { discount: reduction }),
    }))

const quantity = fc.oneof(
  { weight: 3, arbitrary: fc.nat(500).map(String) },
  fc.nat(2_000_000).map(String),
  decimal(500, 6),
)
export const calls: fc.Arbitrary<Call> = fc.record({
  meters: fc.dictionary(fc.constantFrom(...METERS), quantity, { maxKeys: 6 }),
  attributes: fc.record(
    {
      quality: fc.constantFrom('low', 'high', 'odd', 'constructor'),
      size: fc.constantFrom<Attribute[]>('small', 1024, 'huge'),
      off_peak: fc.boolean(),
      duration: fc.nat(500),
    },
    { requiredKeys: [] },
  ),
  at: fc.nat(4_000_000_000_000),
})
