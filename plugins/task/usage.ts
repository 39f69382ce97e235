/** The usage that a task is charged for: that which its upstream reports, else the effective
 *  request, since providers of media bill what was ordered, else the hold. Pure. */
import { creditsReplaceLines } from '../billing/meters.ts'
import { charactersIn, imagesIn, orderedSeconds } from '../billing/request-bounds.ts'
import { thaw } from '../billing/rule.ts'
import { type SecondsOrder, USUAL_ORDER } from '../formats/seconds-order.ts'
import { COMPLETION_METERS, PROMPT_METERS } from '../formats/token-meters.ts'
import { type KeptUsage, priceKept } from '../ledger/kept-hold.ts'
import type { KeptHold, Meter, Meters, Usage } from '../slots.ts'
import type { Fields, Task } from './task.ts'

/** The paid quantities of the request that the frozen price has lines for. */
export const usageOfRequest = (
  body: Fields,
  { rule: frozen }: Pick<KeptHold, 'rule'>,
  order: SecondsOrder = USUAL_ORDER,
): Usage => {
  const rule = thaw(frozen)
  const { pricingMeters } = rule
  const meters: { -readonly [K in keyof Meters]: Meters[K] } = { calls: 1 }
  const seconds = orderedSeconds(body, order, rule)
  if (pricingMeters.has('seconds') && seconds !== undefined) meters.seconds = seconds
  if (pricingMeters.has('images')) meters.images = imagesIn(body)
  const characters = pricingMeters.has('characters') ? charactersIn(body) : undefined
  if (characters !== undefined) meters.characters = characters
  return { meters, estimated: false }
}

/** The usage that the request of a task orders. Undefined on a free route. */
export const usageOf = ({
  meters,
  body,
  hold,
}: Pick<Task, 'meters' | 'body' | 'hold'>): Usage | undefined => {
  if (meters) return { meters, estimated: false }
  return hold && usageOfRequest(body, hold)
}

/** Quantities of which a price needs one: of tokens any. */
const QUANTITIES: readonly (readonly Meter[])[] = [
  ['seconds'],
  ['images'],
  ['characters'],
  ['credits'],
  [...PROMPT_METERS, ...COMPLETION_METERS],
]
/** The usage that a finished task is charged for. A quantity of the price that neither its upstream
 *  nor its request names is charged at its bound, or the hold is charged whole: no success is free
 *  by chance. Undefined on a free route. */
export const usageAtEnd = (task: Task): KeptUsage | undefined => {
  const { hold, reported } = task
  const ordered = usageOf(task)
  if (!hold || !ordered) return undefined
  const { pricedMeters, maxCalls } = thaw(hold.rule)
  const { credits = 0, ...reportedMeters } = reported?.meters ?? {}
  if (credits > 0 && pricedMeters.has('credits')) return usageOfCredits(credits, pricedMeters)
  const counts: { [meter: string]: number } = { ...ordered.meters, ...reportedMeters }
  let estimated = false
  let takesHold = false
  for (const group of QUANTITIES) {
    const [priced] = group.filter(meter => pricedMeters.has(meter))
    if (!priced || group.some(meter => counts[meter] !== undefined)) continue
    if (priced === 'credits' && creditsReplaceLines(pricedMeters)) continue
    const bound = maxCalls.get(priced)
    if (bound === undefined) takesHold = true
    else counts[priced] = bound
    estimated = true
  }
  const usage = { meters: counts as Meters, estimated }
  if (takesHold) return { ...usage, takesHold }
  const { attributes } = reported ?? {}
  // A value that the price does not know, such as another resolution, does not make it free.
  if (attributes && hasPrice(hold, { ...usage, attributes })) return { ...usage, attributes }
  return hasPrice(hold, usage) ? usage : { ...usage, estimated: true, takesHold: true }
}
/** The usage of a task whose provider reports credits: they replace the other lines of the price. A
 *  line for calls would count 1 without a number. */
const usageOfCredits = (credits: number, pricedMeters: MeterSet): Usage => {
  const replaced = pricedMeters.has('calls') ? { calls: 0 } : {}
  return { meters: { ...replaced, credits }, estimated: false }
}
interface MeterSet {
  has(meter: Meter): boolean
}
const hasPrice = (hold: KeptHold, usage: Usage): boolean => {
  const { charged, isComplete } = priceKept(hold, usage)
  return charged > 0n || isComplete
}

/** Members of a request that say what is made. */
const SETTINGS: ReadonlySet<string> = new Set(['resolution', 'size', 'duration', 'seconds'])
/** The results, and the facts that their price depends on, with the defaults of the model: for the
 *  log and the receipt. */
export const settingsOf = ({ body, hold }: Pick<Task, 'body' | 'hold'>): Fields => {
  const settings = Object.entries(body).filter(([name]) => SETTINGS.has(name))
  return { ...hold?.attributes, ...Object.fromEntries(settings) }
}
