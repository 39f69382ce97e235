/** Brings settings of another format into the ranges that a target's format takes. Pure. */
import { usualName } from '../../tiers.ts'
import type { DroppedFields } from '../codec.ts'
import type { Settings } from '../prompt.ts'

interface Range {
  readonly least?: number
  readonly most?: number
  readonly isWhole?: true
  /** No other value says the same: one beyond the range is left out. Others become the nearest. */
  readonly isExact?: true
}
type Ranges = Readonly<Partial<Record<keyof Settings, Range>>>

const SHARE: Range = { least: 0, most: 1 }
const INT32 = 2 ** 31 - 1
const OPENAI: Ranges = {
  limit: { least: 1, most: INT32, isWhole: true },
  temperature: { least: 0, most: 2 },
  topP: SHARE,
  candidates: { least: 1, most: 128, isWhole: true },
  // The largest number of 64 bits that a double has.
  seed: { least: -(2 ** 63), most: 2 ** 63 - 1024, isWhole: true, isExact: true },
  frequencyPenalty: { least: -2, most: 2 },
  presencePenalty: { least: -2, most: 2 },
  alternatives: { least: 0, most: 20, isWhole: true },
}
const ANTHROPIC: Ranges = {
  limit: { least: 1, most: INT32, isWhole: true },
  topP: SHARE,
  topK: { least: 1, most: INT32, isWhole: true, isExact: true },
}
const GOOGLE: Ranges = {
  ...OPENAI,
  topK: { least: 1, most: INT32, isWhole: true, isExact: true },
  candidates: { least: 1, most: 8, isWhole: true },
  seed: { least: -INT32, most: INT32, isWhole: true, isExact: true },
}
/** Target format -> its ranges. Sources: the API reference of each provider. */
const RANGES: Readonly<Record<string, Ranges>> = {
  'openai-chat': OPENAI,
  'openai-responses': OPENAI,
  'anthropic-messages': ANTHROPIC,
  'bedrock-converse': ANTHROPIC,
  'google-gemini': GOOGLE,
  'google-interactions': GOOGLE,
}

/** Reports each value that changes. `tiers`: those that the target's format names; absent: its
 *  encoder knows. */
export const fitSettings = (
  settings: Settings,
  { format, tiers }: { format: string; tiers: ReadonlySet<string> | undefined },
  dropped: DroppedFields,
): Settings => {
  const result: { -readonly [Name in keyof Settings]: unknown } = { ...settings }
  for (const [name, range] of Object.entries(RANGES[format] ?? {}) as [keyof Settings, Range][]) {
    const value = settings[name]
    const fitted = typeof value === 'number' ? within(value, range) : value
    if (fitted === value) continue
    dropped.add(name)
    if (fitted === undefined) delete result[name]
    else result[name] = fitted
  }
  fitStops(settings, result, dropped)
  if (tiers) fitTier(settings, result, tiers, dropped)
  // Every provider demands the switch beside the number.
  if (settings.alternatives !== undefined && settings.logprobs !== true) {
    if (settings.alternatives !== 0) dropped.add('alternatives')
    delete result.alternatives
  }
  return result as Settings
}
const within = (value: number, range: Range): number | undefined => {
  const { least = -Infinity, most = Infinity, isWhole, isExact } = range
  const whole = isWhole ? Math.floor(value) : value
  const fitted = Math.min(Math.max(whole, least), most)
  return isExact && fitted !== value ? undefined : fitted
}
/** A tier of another provider gets its usual name; one that the target lacks is left out. */
const fitTier = (
  { tier }: Settings,
  result: { tier?: unknown },
  tiers: ReadonlySet<string>,
  dropped: DroppedFields,
): void => {
  if (tier === undefined || tiers.has(tier)) return
  const usual = usualName('service_tier', tier)
  if (tiers.has(usual)) result.tier = usual
  else {
    dropped.add('tier')
    delete result.tier
  }
}
/** An empty text stops nothing, and some providers refuse it. */
const fitStops = (
  { stops }: Settings,
  result: { stops?: unknown },
  dropped: DroppedFields,
): void => {
  const texts = stops?.filter(stop => stop !== '')
  if (!stops || texts?.length === stops.length) return
  dropped.add('stops')
  if (texts?.length) result.stops = texts
  else delete result.stops
}
