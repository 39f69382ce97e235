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
 *  second; `durations`, if clips of another one cost another rate. Empty for models that make no
 *  clips, and if the configuration has no credits. */
export const videoPricesOf = (entry: Entry, rule: Rule, { rates }: Currency): readonly Json[] => {
  const credit = rates.get(CODE)
  if (credit === undefined) return []
  const costOf = ({ body, duration }: Clip): bigint => {
    const usage = toExactUsage({ meters: { calls: 1, seconds: duration } })
    return price(usage, rule, factsOf(body, Date.now())).nanos
  }
  return [...clipsOf(entry)].map(([resolution, { duration, all, ...clip }]) => {
    const nanos = costOf({ ...clip, duration })
    // Where a rate does not multiply, each duration has its total.
    const isRate = all.every(
      each => costOf(each) * BigInt(duration) === nanos * BigInt(each.duration),
    )
    const totals = all.map(each => ({
      duration: each.duration,
      credits: credits(costOf(each), credit),
    }))
    return {
      resolution,
      credits_per_second: credits(nanos, credit * BigInt(duration)),
      duration,
      credits: credits(nanos, credit),
      ...(!isRate && { durations: totals }),
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
/** A clip, and those of the other durations that the model makes. */
interface Clips extends Clip {
  readonly all: readonly Clip[]
}
const MOST_DURATIONS = 60
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
const clipsOf = (entry: Entry): ReadonlyMap<string, Clips> => {
  const clips = new Map<string, Clips>()
  for (const [route, schema] of Object.entries(entry.options.accepts ?? {})) {
    const defaults = defaultsOn(route, entry)
    if (schema === false || !defaults) continue
    for (const resolution of resolutionsIn(schema)) {
      const clip = clips.has(resolution) ? undefined : clipOf({ resolution }, defaults)
      if (!clip) continue
      const all = durationsIn(schema).flatMap(
        duration => clipOf({ resolution, duration }, defaults) ?? [],
      )
      const validator = entry.accepts.get(route) || undefined
      const makes = ({ body }: Clip): boolean =>
        validator?.validate({ images: [''], ...Object(body) }) === undefined
      clips.set(resolution, { ...clip, all: all.filter(makes) })
    }
  }
  return clips
}
/** Whole seconds. */
const durationsIn = (schema: Json): readonly number[] => {
  const { properties } = isFields(schema) ? schema : {}
  const { duration } = isFields(properties) ? properties : {}
  const { enum: values, const: value, minimum, maximum } = isFields(duration) ? duration : {}
  const [first, last] = [Number(minimum), Number(maximum)]
  if (last >= first && last - first < MOST_DURATIONS)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  return [values ?? value ?? []].flat().map(Number)
}
const resolutionsIn = (schema: Json): readonly string[] => {
  const { properties } = isFields(schema) ? schema : {}
  const { resolution } = isFields(properties) ? properties : {}
  const { enum: values, const: value } = isFields(resolution) ? resolution : {}
  return [values ?? value ?? []].flat().map(String)
}
