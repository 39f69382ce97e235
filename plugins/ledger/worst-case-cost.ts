/** Caches the worst-case cost of calls at standard tiers whose price depends on tokens alone, for
 *  few distinct sizes. */
import { isMeter, SUMS } from '../billing/meters.ts'
import { costsStandard } from '../billing/priced-tiers.ts'
import type { RequestBounds } from '../billing/request-bounds.ts'
import type { Rule } from '../billing/rule.ts'
import type { Facts } from '../billing/usage.ts'
import { type WorstCase, worstCase } from '../billing/worst-case.ts'
import { isTierName } from '../formats/tiers.ts'

/** Prompt sizes are rounded up to a multiple of this many tokens, so that the cache hits. */
const PROMPT_STEP = 256
const MAX_ENTRIES = 1_000

export class WorstCaseCosts {
  readonly #rule: Rule
  /** Undefined: the price depends on more than tokens. A Map, since it takes no memory while empty:
   *  a configuration may have ten thousand models. */
  readonly #cache: Map<string, WorstCase> | undefined

  constructor(rule: Rule) {
    this.#rule = rule
    this.#cache = isTokenPriced(rule) ? new Map() : undefined
  }
  of({ bounds, isWithoutTools }: RequestBounds, facts: Facts): WorstCase {
    const { prompt = 0, completion = 0 } = bounds
    if (!this.#cache || !isWithoutTools || !costsStandard(this.#rule, facts))
      return worstCase(this.#rule, bounds, facts)
    const steps = Math.ceil(prompt / PROMPT_STEP)
    const key = `${steps} ${completion}`
    const cachedCost = this.#cache.get(key)
    if (cachedCost) return cachedCost
    const cost = worstCase(this.#rule, { ...bounds, prompt: steps * PROMPT_STEP }, facts)
    if (this.#cache.size >= MAX_ENTRIES) this.#cache.clear()
    this.#cache.set(key, cost)
    return cost
  }
}

const TOKEN_METERS: ReadonlySet<string> = new Set(
  [...Object.values(SUMS).flat(), 'calls'].filter(isMeter),
)
const isTokenPriced = ({ lines, discount }: Rule): boolean =>
  !discount &&
  lines.every(
    ({ meter, when, by }) =>
      TOKEN_METERS.has(meter) &&
      when.every(each => 'name' in each && isTierName(each.name)) &&
      by.every(each => isTierName(each)),
  )
