/** Requests and tokens that one key of an upstream has left: by its own limits per minute, which
 *  all workers share, and by the headers of its provider. Times are arguments: ms, monotonic. */
import { DURATIONS } from '../../engine/kit.ts'
import type { Allowance, Headers, KeyRefusal } from '../../engine/plugin.ts'

/** Names of headers, with `{unit}` for a unit. */
export interface LimitHeaders {
  readonly remaining: string
  readonly reset: string
}
export type Unit = 'requests' | 'tokens'
interface Limit {
  readonly unit: Unit
  /** Units per minute. */
  readonly amount: number
  readonly allowance: Allowance
}
/** The units of one attempt; `window` identifies that of its tokens. */
export interface QuotaTicket {
  readonly tokens: number
  readonly window: number | undefined
}
type Admission = QuotaTicket | KeyRefusal
export const isRefusal = (admission: Admission): admission is KeyRefusal => 'ms' in admission

/** Units that a provider reported, and the time when all are back. */
interface Remaining {
  amount: number
  readonly resetAt: number
}
/** Shortest wait after a refusal, ms. */
const SHORTEST_WAIT = 50
/** Clients choose names of targets. */
const MOST_TARGETS = 1_000
const UNITS: readonly Unit[] = ['requests', 'tokens']

export class KeyQuota {
  readonly #name: string
  readonly #limits: readonly Limit[]
  readonly #headers: Readonly<Record<Unit, LimitHeaders>>
  /** By the name of the target, then by unit: providers limit each model. */
  readonly #remaining = new Map<string, Partial<Record<Unit, Remaining>>>()

  /** `limits`: tokens first, since they are returned when the requests are refused. `name`:
   *  identifies the key, in every process. */
  constructor(name: string, limits: readonly Limit[], headers: LimitHeaders) {
    this.#name = name
    this.#limits = limits
    const of = (unit: Unit): LimitHeaders => ({
      remaining: headers.remaining.replaceAll('{unit}', unit),
      reset: headers.reset.replaceAll('{unit}', unit),
    })
    this.#headers = { requests: of('requests'), tokens: of('tokens') }
  }
  /** Takes one request of about so many tokens. A promise only if the workers have to agree. */
  take(target: string, tokens: number, now: number): Admission | Promise<Admission> {
    const refusal = this.#refusalOfProvider(target, tokens, now)
    if (refusal) return refusal
    for (const limit of this.#limits) {
      const isGiven = limit.allowance.take(this.#name, amountOf(limit, tokens))
      if (isGiven !== true) return this.#request(target, tokens, limit, isGiven)
    }
    return this.#ticket(target, tokens)
  }
  /** `first`: the first limit that did not give its units at once; `false`: it is exhausted. */
  async #request(
    target: string,
    tokens: number,
    first: Limit,
    result: false | undefined,
  ): Promise<Admission> {
    let isGiven = result !== false
    for (const limit of this.#limits.slice(this.#limits.indexOf(first))) {
      const { allowance, unit } = limit
      isGiven &&= await allowance.request(this.#name, amountOf(limit, tokens))
      if (isGiven) continue
      const ms = Math.max(SHORTEST_WAIT, Math.ceil(allowance.retryAfter(this.#name)))
      if (unit === 'requests') this.settle({ tokens, window: this.#window }, 0)
      return refusalOf(unit, ms)
    }
    return this.#ticket(target, tokens)
  }
  /** Corrects the estimate of a ticket by the tokens that were used. */
  settle({ tokens, window }: QuotaTicket, used: number): void {
    const limit = this.#tokenLimit
    if (!limit) return
    const more = BigInt(Math.ceil(used)) - amountOf(limit, tokens)
    if (more > 0n) limit.allowance.spend(this.#name, more)
    else if (more < 0n) limit.allowance.returnUnits(this.#name, -more, window)
  }
  /** Reads the headers of a response. `date`: ms since 1970. */
  read(target: string, headers: Headers, now: number, date = Date.now()): void {
    for (const unit of UNITS) {
      const names = this.#headers[unit]
      const amount = headers[names.remaining]
      const reset = headers[names.reset]
      if (typeof amount !== 'string' || typeof reset !== 'string') continue
      const ms = resetTime(reset, date)
      if (!/^\d{1,15}$/.test(amount) || ms === undefined) continue
      if (this.#remaining.size >= MOST_TARGETS && !this.#remaining.has(target))
        this.#remaining.clear()
      const known = this.#remaining.get(target) ?? {}
      known[unit] = { amount: Number(amount), resetAt: now + ms }
      this.#remaining.set(target, known)
    }
  }
  #refusalOfProvider(target: string, tokens: number, now: number): KeyRefusal | undefined {
    const known = this.#remaining.get(target)
    if (!known) return undefined
    for (const unit of UNITS) {
      const remaining = known[unit]
      if (!remaining) continue
      const limit = this.#limits.find(each => each.unit === unit)?.amount ?? 1
      // A request above the whole limit waits until all is back.
      const needed = unit === 'requests' ? 1 : Math.min(tokens, limit)
      const ms = waitFor(needed, remaining, limit, now)
      if (ms > 0) return refusalOf(unit, ms)
    }
    return undefined
  }
  #ticket(target: string, tokens: number): QuotaTicket {
    const known = this.#remaining.get(target)
    if (known?.requests) known.requests.amount--
    if (known?.tokens) known.tokens.amount -= tokens
    return { tokens, window: this.#window }
  }
  get #tokenLimit(): Limit | undefined {
    return this.#limits.find(({ unit }) => unit === 'tokens')
  }
  get #window(): number | undefined {
    return this.#tokenLimit?.allowance.reading(this.#name)?.window
  }
}
/** A key without requests refuses all; one with few tokens left may take smaller requests. */
const refusalOf = (unit: Unit, ms: number): KeyRefusal => ({ ms, isForAll: unit === 'requests' })
/** At most the whole limit: no window has more. */
const amountOf = ({ unit, amount }: Limit, tokens: number): bigint =>
  unit === 'requests' ? 1n : BigInt(Math.min(Math.ceil(tokens), amount))

/** ms until enough is back: providers refill evenly, up to `limit` at the reset. */
const waitFor = (
  needed: number,
  { amount, resetAt }: Remaining,
  limit: number,
  now: number,
): number => {
  const reset = resetAt - now
  if (amount >= needed || reset <= 0) return 0
  return Math.ceil((reset * (needed - amount)) / (Math.max(limit, needed) - amount))
}

const DATE = /^\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)$/
const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/
const PARTS = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+$/
/** ms until a reset that is a date (RFC 3339), a number of seconds, or `1m2.5s`. */
export const resetTime = (text: string, date: number): number | undefined => {
  if (DATE.test(text)) return Math.max(0, Date.parse(text) - date) || 0
  if (SECONDS.test(text)) return Number(text) * 1_000
  if (!PARTS.test(text)) return undefined
  let sum = 0
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|[smhd])/g))
    sum += Number(amount) * DURATIONS[unit as keyof typeof DURATIONS]
  return sum
}
