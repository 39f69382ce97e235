/** The meters of a price: their sums, and the meter whose lines price a meter without lines. */
import { COMPLETION_METERS, PROMPT_METERS } from '../formats/token-meters.ts'
import type { Meter, Meters } from '../slots.ts'

const PIECE_METERS = [
  'images',
  'characters',
  'seconds',
  'search_units',
  'cache_storage',
  'credits',
  'calls',
] as const satisfies readonly Meter[]
/** Transcripts of what a speaker says in a conversation: another model writes them. */
const TRANSCRIPT_METERS = ['transcription_seconds'] as const satisfies readonly Meter[]
/** Answers of the gateway itself in place of an upstream. */
const GATEWAY_METERS = ['cached_call'] as const satisfies readonly Meter[]
const TOOL_METERS = [
  'web_search',
  'file_search',
  'code_execution',
  'x_search',
  'collections_search',
  'google_maps',
  'retrieval',
  'image_generation',
  'image_generation_input',
  'image_generation_output',
  'other_tools',
] as const satisfies readonly Meter[]

/** All meters, in the order of a receipt. */
export const METERS: readonly Meter[] = [
  ...PROMPT_METERS,
  ...COMPLETION_METERS,
  ...PIECE_METERS,
  ...TRANSCRIPT_METERS,
  ...GATEWAY_METERS,
  ...TOOL_METERS,
] satisfies AllMeters
// A meter of slots.ts that is in none of these lists is a type error here.
type ListedMeter = (
  | typeof PROMPT_METERS
  | typeof COMPLETION_METERS
  | typeof PIECE_METERS
  | typeof TRANSCRIPT_METERS
  | typeof GATEWAY_METERS
  | typeof TOOL_METERS
)[number]
type AllMeters = Meter extends ListedMeter ? readonly Meter[] : never

/** Sums that a condition and a bound may name. */
export const SUMS = { prompt: PROMPT_METERS, completion: COMPLETION_METERS } as const
export type Sum = keyof typeof SUMS
export const isSum = (name: string): name is Sum => Object.hasOwn(SUMS, name)
/** The sum that contains a meter. */
export const SUM_OF: Readonly<Partial<Record<Meter, Sum>>> = {
  ...Object.fromEntries(PROMPT_METERS.map(meter => [meter, 'prompt' as const])),
  ...Object.fromEntries(COMPLETION_METERS.map(meter => [meter, 'completion' as const])),
}
export const isMeter = (name: unknown): name is Meter => METERS.includes(name as Meter)

interface StandIn {
  readonly meter: Meter
  /** Whether the price is the right one. Otherwise it applies, and the meter counts as unpriced. A
   *  meter: it is the right one if that meter has no lines, so that the model charges this kind of
   *  tokens like text. */
  readonly isExact: boolean | { readonly unlessPriced: Meter }
}
/** The meter whose price applies to a meter without lines. Upstreams without a discount bill cached
 *  tokens as input and thinking as output; audio, images and video cost more than text. */
const STAND_INS: Readonly<Partial<Record<Meter, StandIn>>> = {
  cached: { meter: 'input', isExact: true },
  cached_audio: { meter: 'cached', isExact: { unlessPriced: 'audio_input' } },
  cached_image: { meter: 'cached', isExact: { unlessPriced: 'image_input' } },
  cache_write: { meter: 'input', isExact: true },
  cache_write_1h: { meter: 'cache_write', isExact: true },
  thinking: { meter: 'output', isExact: true },
  audio_input: { meter: 'input', isExact: false },
  image_input: { meter: 'input', isExact: false },
  audio_output: { meter: 'output', isExact: false },
  image_output: { meter: 'output', isExact: false },
  video_output: { meter: 'output', isExact: false },
  // A model that writes no sound is the one that transcribes.
  transcription_input: { meter: 'audio_input', isExact: { unlessPriced: 'audio_output' } },
  transcription_output: { meter: 'output', isExact: { unlessPriced: 'audio_output' } },
}

interface MeterSet {
  has(meter: Meter): boolean
}
export interface PricingMeter {
  /** The meter whose lines price it. */
  readonly meter: Meter
  readonly isExact: boolean
}
/** Finds the meter that prices a meter: itself, or the first stand-in that has lines. */
export const pricingMeterOf = (meter: Meter, pricedMeters: MeterSet): PricingMeter | undefined => {
  let isExact = true
  for (let at: Meter | undefined = meter; at; at = STAND_INS[at]?.meter) {
    if (pricedMeters.has(at)) return { meter: at, isExact }
    isExact &&= isExactPrice(STAND_INS[at]?.isExact ?? true, pricedMeters)
  }
  return undefined
}

const isExactPrice = (isExact: StandIn['isExact'], pricedMeters: MeterSet): boolean =>
  typeof isExact === 'boolean' ? isExact : !pricedMeters.has(isExact.unlessPriced)

/** Whether other lines cover a meter without lines: a model is priced by tokens or by pieces. No
 *  price covers tools. */
export const isIncluded = (meter: Meter, pricedMeters: MeterSet): boolean => {
  if (meter === 'calls' || meter === 'cached_call') return true
  if (meter.startsWith('image_generation')) return includesImageTool(meter, pricedMeters)
  const tokens = [...PROMPT_METERS, ...COMPLETION_METERS].some(each => pricedMeters.has(each))
  const pieces = PIECE_METERS.some(each => pricedMeters.has(each))
  if (isToolMeter(meter) || includesMeter(TRANSCRIPT_METERS, meter)) return false
  return includesMeter(PIECE_METERS, meter)
    ? tokens || pricedMeters.has('calls')
    : pieces && !tokens
}
/** Images of a tool are priced by the call or by its tokens. */
const includesImageTool = (meter: Meter, pricedMeters: MeterSet): boolean =>
  meter === 'image_generation'
    ? pricedMeters.has('image_generation_output')
    : pricedMeters.has('image_generation')
/** No request offers a tool: 0 for each. */
export const NO_TOOLS: Meters = Object.fromEntries(TOOL_METERS.map(meter => [meter, 0]))
/** Tools that upstreams run and bill apart. */
export const isToolMeter = (meter: Meter): boolean => includesMeter(TOOL_METERS, meter)
const includesMeter = (list: readonly Meter[], meter: Meter): boolean => list.includes(meter)

/** Whether a price has credits beside other lines. Reported credits then replace what these lines
 *  say: they bound the hold, and tell customers what to expect. */
export const creditsReplaceLines = (pricedMeters: {
  has(meter: Meter): boolean
  readonly size: number
}): boolean => pricedMeters.has('credits') && pricedMeters.size > 1
