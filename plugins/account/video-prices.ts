/** Prices of a video model's clips at each resolution, in credits, for the price page. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import type { Currency } from '../billing/currency.ts'
import { printDecimal } from '../billing/decimal.ts'
import { price } from '../billing/price.ts'
import { factsOf } from '../billing/request-bounds.ts'
import type { Rule } from '../billing/rule.ts'
import { toExactUsage } from '../billing/usage.ts'
import { defaultsOn, type Entry } from '../catalogue/catalogue.ts'
import { applyDefaults, type Defaults } from '../catalogue/defaults.ts'
import { exactNumber } from './response.ts'

const CODE = 'CREDIT'
const PLACES = 6
const SCALE = 10n ** BigInt(PLACES)

/** A row for each resolution: the price of a clip of the default duration, and what that is per
 *  second. Empty for models that make no clips, and if the configuration has no credits. */
export const videoPricesOf = (entry: Entry, rule: Rule, { rates }: Currency): readonly Json[] => {
  const credit = rates.get(CODE)
  if (credit === undefined) return []
  return [...clipsOf(entry)].map(([resolution, { body, duration }]) => {
    const usage = toExactUsage({ meters: { calls: 1, seconds: duration } })
    const { nanos } = price(usage, rule, factsOf(body, Date.now()))
    return {
      resolution,
      credits_per_second: credits(nanos, credit * BigInt(duration)),
      duration,
      credits: credits(nanos, credit),
    }
  })
}
const credits = (nanos: bigint, credit: bigint): Json =>
  exactNumber(printDecimal((nanos * SCALE * 2n + credit) / (credit * 2n), PLACES))

interface Clip {
  readonly body: Json
  /** Whole seconds. */
  readonly duration: number
}
/** The clip that a model makes if the request sets nothing. Undefined: it makes no clips. */
export const plainClipOf = (entry: Entry): Clip | undefined => {
  for (const [route, schema] of Object.entries(entry.options.accepts ?? {})) {
    const defaults = schema === false ? undefined : defaultsOn(route, entry)
    const clip = defaults && clipOf({}, defaults)
    if (clip) return clip
  }
  return undefined
}
const clipOf = (request: Json, defaults: Defaults): Clip | undefined => {
  const body = applyDefaults(request, defaults)
  const duration = isFields(body) ? Number(body.duration) : 0
  return body && Number.isInteger(duration) && duration > 0 ? { body, duration } : undefined
}
/** Resolution -> the request for a clip that says no more. Routes whose requests have no duration
 *  by default make no clips. */
const clipsOf = (entry: Entry): ReadonlyMap<string, Clip> => {
  const clips = new Map<string, Clip>()
  for (const [route, schema] of Object.entries(entry.options.accepts ?? {})) {
    const defaults = defaultsOn(route, entry)
    if (schema === false || !defaults) continue
    for (const resolution of resolutionsIn(schema)) {
      const clip = clips.has(resolution) ? undefined : clipOf({ resolution }, defaults)
      if (clip) clips.set(resolution, clip)
    }
  }
  return clips
}
const resolutionsIn = (schema: Json): readonly string[] => {
  const { properties } = isFields(schema) ? schema : {}
  const { resolution } = isFields(properties) ? properties : {}
  const { enum: values, const: value } = isFields(resolution) ? resolution : {}
  return [values ?? value ?? []].flat().map(String)
}
