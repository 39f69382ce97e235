/** The meters of a price: their sums, and the meter whose lines price a meter without its own. */
import type { Meter } from '../slots.ts'

const READ = [
  'input',
  'cached',
  'cache_write',
  'cache_write_1h',
  'audio_input',
  'image_input',
] as const satisfies readonly Meter[]
const WRITTEN = ['output', 'thinking', 'audio_output'] as const satisfies readonly Meter[]
const PIECES = ['images', 'characters', 'seconds', 'calls'] as const satisfies readonly Meter[]
const TOOLS = ['web_search', 'file_search', 'code_execution'] as const satisfies readonly Meter[]

/** All meters, in the order of a receipt. */
export const METERS: readonly Meter[] = [...READ, ...WRITTEN, ...PIECES, ...TOOLS] satisfies Whole
// A meter that slots.ts gains and these lists miss is a type error here.
type Listed = (typeof READ | typeof WRITTEN | typeof PIECES | typeof TOOLS)[number]
type Whole = Meter extends Listed ? readonly Meter[] : never

/** Sums that a condition and a bound may name. */
export const SUMS = { prompt: READ, completion: WRITTEN } as const
export type Sum = keyof typeof SUMS
export const isSum = (name: string): name is Sum => Object.hasOwn(SUMS, name)
/** The sum that contains a meter. */
export const SUM_OF: Readonly<Partial<Record<Meter, Sum>>> = {
  ...Object.fromEntries(READ.map(meter => [meter, 'prompt' as const])),
  ...Object.fromEntries(WRITTEN.map(meter => [meter, 'completion' as const])),
}
export const isMeter = (name: unknown): name is Meter => METERS.includes(name as Meter)

interface StandIn {
  readonly meter: Meter
  /** Whether the price is the right one. If not, it is used and reported as unpriced. */
  readonly exact: boolean
}
/** Upstreams without a discount bill cached tokens as input and thinking as output; audio and images
 *  cost more than text. */
const STAND_INS: Readonly<Partial<Record<Meter, StandIn>>> = {
  cached: { meter: 'input', exact: true },
  cache_write: { meter: 'input', exact: true },
  cache_write_1h: { meter: 'cache_write', exact: true },
  thinking: { meter: 'output', exact: true },
  audio_input: { meter: 'input', exact: false },
  image_input: { meter: 'input', exact: false },
  audio_output: { meter: 'output', exact: false },
}

interface Has {
  has(meter: Meter): boolean
}
export interface Home {
  /** The meter whose lines price it. */
  readonly meter: Meter
  readonly exact: boolean
}
/** Finds the meter that prices a meter: itself, or the first stand-in that has lines. */
export const homeOf = (meter: Meter, priced: Has): Home | undefined => {
  let exact = true
  for (let at: Meter | undefined = meter; at; at = STAND_INS[at]?.meter) {
    if (priced.has(at)) return { meter: at, exact }
    exact &&= STAND_INS[at]?.exact ?? true
  }
  return undefined
}

/** Whether a meter without lines is covered by others: a model is priced by tokens or by pieces. Tools
 *  are never included. */
export const isIncluded = (meter: Meter, priced: Has): boolean => {
  if (meter === 'calls') return true
  const tokens = [...READ, ...WRITTEN].some(each => priced.has(each))
  const pieces = PIECES.some(each => priced.has(each))
  if (within(TOOLS, meter)) return false
  return within(PIECES, meter) ? tokens || priced.has('calls') : pieces && !tokens
}
const within = (list: readonly Meter[], meter: Meter): boolean => list.includes(meter)
