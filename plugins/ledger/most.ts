/** The most a call can cost, remembered: prices that go by tokens alone are asked for the same few sums all day. */
import type { Asked } from '../billing/asked.ts'
import { isMeter, SUMS } from '../billing/meters.ts'
import type { Rule } from '../billing/rule.ts'
import type { Facts } from '../billing/usage.ts'
import { type Worst, worst } from '../billing/worst.ts'

/** What is read is held in steps of so many tokens: a little more than needed, and seldom reckoned anew. */
const STEP = 256
const KEPT = 1_000

export class Mosts {
  readonly #rule: Rule
  /** Undefined: the price goes by more than what is read and written. A Map, which is empty until it is used: there is
   *  one for each of ten thousand models. */
  readonly #known: Map<string, Worst> | undefined

  constructor(rule: Rule) {
    this.#rule = rule
    this.#known = goesByTokens(rule) ? new Map() : undefined
  }
  of({ bounds, plain }: Asked, facts: Facts): Worst {
    const { prompt = 0, completion = 0 } = bounds
    if (!this.#known || !plain) return worst(this.#rule, bounds, facts)
    const steps = Math.ceil(prompt / STEP)
    const key = `${steps} ${completion}`
    const found = this.#known.get(key)
    if (found) return found
    const made = worst(this.#rule, { ...bounds, prompt: steps * STEP }, facts)
    if (this.#known.size >= KEPT) this.#known.clear()
    this.#known.set(key, made)
    return made
  }
}

const TOKENS: ReadonlySet<string> = new Set(
  [...Object.values(SUMS).flat(), 'calls'].filter(isMeter),
)
const goesByTokens = ({ lines }: Rule): boolean =>
  lines.every(({ meter, when, by }) => TOKENS.has(meter) && when.length === 0 && by.length === 0)
