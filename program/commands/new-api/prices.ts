/** Prices by the ratios of new-api and one-api. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import { usd } from '../starter/texts.ts'
import type { Report } from './report.ts'
import { jsonIn, type Tables } from './source.ts'

export interface Ratios {
  /** Quota units of 1 USD. */
  readonly unit: number
  readonly prices: Numbers
  readonly models: Numbers
  readonly completion: Numbers
  readonly cache: Numbers
  readonly cacheWrite: Numbers
  readonly image: Numbers
  readonly audio: Numbers
  readonly audioCompletion: Numbers
  readonly modes: Readonly<Record<string, unknown>>
}
type Numbers = Readonly<Record<string, unknown>>
type Patterns = readonly (readonly [pattern: string, ratio: number])[]
export interface CompletionRatios {
  readonly completion_ratios: Patterns
  readonly completion_defaults: Patterns
}

const DEFAULT_UNIT = 500_000
export const readRatios = (tables: Tables): Ratios => {
  const options = new Map(
    (tables.get('options') ?? []).map(({ key, value }) => [String(key).trim(), value]),
  )
  const map = (name: string): Numbers => jsonIn(options.get(name) ?? null)
  return {
    unit: Number(options.get('QuotaPerUnit')) || DEFAULT_UNIT,
    prices: map('ModelPrice'),
    models: map('ModelRatio'),
    completion: map('CompletionRatio'),
    cache: map('CacheRatio'),
    cacheWrite: map('CreateCacheRatio'),
    image: map('ImageRatio'),
    audio: map('AudioRatio'),
    audioCompletion: map('AudioCompletionRatio'),
    modes: map('billing_setting.billing_mode'),
  }
}

interface Alternative {
  readonly report: Report
  /** The price of the provider's own list, if no ratio is known. */
  readonly listPrice: { readonly [key: string]: Json } | undefined
}
/** The options `price` or `free` of a model; undefined, and a line of the report, if no price is
 *  known. A call without one would be free, so the model is left out. */
export const priceOf = (
  name: string,
  ratios: Ratios,
  tables: CompletionRatios,
  { report, listPrice }: Alternative,
): { readonly [key: string]: Json } | undefined => {
  if (ratios.modes[name] === 'tiered_expr') {
    report.add(
      'models',
      'priced by an expression: write `price:` with lines (docs/prices.md)',
      name,
    )
    return undefined
  }
  const fixed = numberAt(ratios.prices, name)
  if (fixed !== undefined)
    return fixed === 0 ? { free: true } : { price: { calls: `${usd(fixed)} USD` } }
  const ratio = numberAt(ratios.models, name) ?? numberAt(ratios.models, normalised(name))
  if (ratio === undefined && listPrice) {
    report.add(
      'models',
      'neither ModelPrice nor ModelRatio has it: it has the list price of its provider (models/prices.yaml)',
      name,
    )
    return { price: listPrice }
  }
  if (ratio === undefined) {
    report.add(
      'models',
      'neither ModelPrice nor ModelRatio has it, so its price is not known',
      name,
    )
    return undefined
  }
  if (ratio === 0) return { free: true }
  const unit = (ratio * 1e6) / ratios.unit
  return { price: tokenPrices(name, unit, ratios, tables) }
}

const tokenPrices = (name: string, unit: number, ratios: Ratios, tables: CompletionRatios) => {
  const at = (factor: number): string => `${usd(unit * factor)} USD / 1M`
  const optional = (meter: string, numbers: Numbers, factor = 1) => {
    const ratio = numberAt(numbers, name)
    return ratio === undefined ? {} : { [meter]: at(ratio * factor) }
  }
  const audio = numberAt(ratios.audio, name)
  const cacheWrite = numberAt(ratios.cacheWrite, name)
  return {
    input: at(1),
    output: at(completionOf(name, ratios, tables)),
    ...optional('cached', ratios.cache),
    ...(cacheWrite !== undefined && {
      cache_write: at(cacheWrite),
      cache_write_1h: at(cacheWrite * 1.6),
    }),
    ...(cacheWrite === undefined &&
      /claude/.test(name) && { cache_write: at(1.25), cache_write_1h: at(2) }),
    ...optional('image_input', ratios.image),
    ...(audio !== undefined && {
      audio_input: at(audio),
      audio_output: at(audio * (numberAt(ratios.audioCompletion, name) ?? 1)),
    }),
  }
}
/** A ratio of the program wins over the option, except for a listed name with a slash. */
const completionOf = (
  name: string,
  { completion }: Ratios,
  { completion_ratios, completion_defaults }: CompletionRatios,
): number => {
  const listed = numberAt(completion, name)
  const own =
    listed !== undefined && name.includes('/') ? undefined : match(completion_ratios, name)
  return own ?? listed ?? match(completion_defaults, name) ?? 1
}
const match = (patterns: Patterns, name: string): number | undefined =>
  patterns.find(([pattern]) => new RegExp(pattern).test(name))?.[1]

const numberAt = (numbers: Numbers, name: string): number | undefined => {
  const value = Object.hasOwn(numbers, name) ? numbers[name] : undefined
  return typeof value === 'number' && value >= 0 ? value : undefined
}
/** The name under which ratios of a family are. */
const normalised = (name: string): string =>
  name.replace(/^(gemini-2\.5-.*-thinking)-\d+$/, '$1-*').replace(/^(gpt-4o?-gizmo).*$/, '$1-*')
