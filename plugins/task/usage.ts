/** What a task is charged for: the effective request, since providers of media bill what was
 *  ordered. Pure. */
import { charactersIn } from '../billing/request-bounds.ts'
import { thaw } from '../billing/rule.ts'
import type { KeptHold, Meters, Usage } from '../slots.ts'
import type { Fields, Task } from './task.ts'

/** The paid quantities of the request that the frozen price has lines for. */
export const usageOfRequest = (body: Fields, { rule }: Pick<KeptHold, 'rule'>): Usage => {
  const { pricingMeters } = thaw(rule)
  const meters: { -readonly [K in keyof Meters]: Meters[K] } = { calls: 1 }
  const seconds = numberOf(body.duration ?? body.seconds)
  if (pricingMeters.has('seconds') && seconds !== undefined) meters.seconds = seconds
  if (pricingMeters.has('images')) meters.images = numberOf(body.n) ?? 1
  const characters = pricingMeters.has('characters') ? charactersIn(body) : undefined
  if (characters !== undefined) meters.characters = characters
  return { meters, estimated: false }
}

/** What the request of a task orders. Undefined on a free route. */
export const usageOf = ({
  meters,
  body,
  hold,
}: Pick<Task, 'meters' | 'body' | 'hold'>): Usage | undefined => {
  if (meters) return { meters, estimated: false }
  return hold && usageOfRequest(body, hold)
}

/** Members of a request that say what is made. */
const SETTINGS: ReadonlySet<string> = new Set(['resolution', 'size', 'duration', 'seconds'])
/** What is made, and what else its price depends on, with the defaults of the model: for the log
 *  and the receipt. */
export const settingsOf = ({ body, hold }: Pick<Task, 'body' | 'hold'>): Fields => {
  const settings = Object.entries(body).filter(([name]) => SETTINGS.has(name))
  return { ...hold?.attributes, ...Object.fromEntries(settings) }
}

const numberOf = (value: unknown): number | undefined => {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined
}
