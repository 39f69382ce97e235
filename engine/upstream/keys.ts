/** The keys of an upstream: which one an attempt uses, and which rest. Pure: times are arguments,
 *  ms, monotonic.
 *
 *  ready ──refused──▶ resting ──its time──▶ due ──one attempt──▶ probing ──▶ ready, or resting
 *  twice as long. A key that is limited (429) rests for the target of that name only. */
import type { KeyView } from '../plugin.ts'
import type { UpstreamEvents } from './events.ts'

export interface UpstreamKey {
  /** Identifies the key without showing it. */
  readonly name: string
  /** As it is sent, behind its prefix. */
  readonly value: string
  readonly weight: number
  readonly health: KeyHealth
}

/** One use of a key: for which target, when its attempt began, and the time of its response. */
interface KeyUse {
  readonly target: string
  readonly sentAt: number
  readonly now: number
}
/** The first rest of a refused key, and the longest, ms. */
const REST = { first: 60_000, longest: 600_000 }
/** Rest after a 429 without Retry-After, and the longest Retry-After followed, ms. */
const LIMIT = { default: 1_000, longest: 60_000 }

/** ms until an address or a key that answered 429 is used again. */
export const limitTime = (retryAfter: string | string[] | undefined): number => {
  const ms = Number(retryAfter) * 1_000
  return ms > 0 ? Math.min(ms, LIMIT.longest) : LIMIT.default
}

export class KeyHealth {
  #refusals = 0
  #refusedAt = 0
  #restUntil = 0
  #probing = false
  /** Name of a target -> end of the limit. */
  readonly #limits = new Map<string, number>()

  /** `mayProbe`: whether the attempt may be the one that finds out if the key works again. */
  isAvailable(target: string, now: number, mayProbe = true): boolean {
    if (this.#limits.size > 0 && now < (this.#limits.get(target) ?? 0)) return false
    return this.#restUntil === 0 || (mayProbe && now >= this.#restUntil && !this.#probing)
  }
  availableAt(target: string): number {
    return Math.max(this.#restUntil, this.#limits.get(target) ?? 0)
  }
  view(now: number): Omit<KeyView, 'key'> {
    const limited = [...this.#limits].filter(([, until]) => now < until).map(([target]) => target)
    const rests = now < this.#restUntil
    const trial = rests ? 'resting' : 'probing'
    return {
      state: this.isOnTrial ? trial : limited.length > 0 ? 'limited' : 'ready',
      seconds: rests ? Math.ceil((this.#restUntil - now) / 1_000) : 0,
      limited,
    }
  }
  /** It was refused, and no response has shown yet that it works again. */
  get isOnTrial(): boolean {
    return this.#restUntil !== 0
  }
  recordAttempt(now: number): void {
    if (this.#restUntil !== 0 && now >= this.#restUntil) this.#probing = true
  }
  /** Returns the rest, ms. An attempt that began before the end of the last rest adds nothing: one
   *  refusal is seen by all calls under way. */
  recordRefusal(sentAt: number, now: number): number {
    if (sentAt < this.#restUntil) return 0
    const ms = Math.min(REST.first * 2 ** this.#refusals++, REST.longest)
    this.#refusedAt = now
    this.#restUntil = now + ms
    this.#probing = false
    return ms
  }
  /** Returns whether the key rested. A call that began before the refusal proves nothing. */
  recordSuccess(sentAt: number): boolean {
    if (this.#restUntil === 0 || sentAt < this.#refusedAt) return false
    this.#refusals = 0
    this.#restUntil = 0
    this.#probing = false
    return true
  }
  /** The attempt ended without showing whether the key works. */
  recordAbandoned(): void {
    this.#probing = false
  }
  /** Returns whether the limit is a new one. */
  limit(target: string, now: number, ms: number): boolean {
    for (const [name, until] of this.#limits) if (until <= now) this.#limits.delete(name)
    const isNew = !this.#limits.has(target)
    this.#limits.set(target, Math.max(this.#limits.get(target) ?? 0, now + ms))
    return isNew
  }
}

export class UpstreamKeys {
  readonly list: readonly UpstreamKey[]
  readonly #upstream: string
  readonly #events: UpstreamEvents
  /** Smooth weighted round robin: what each key is owed. */
  readonly #credit: number[]

  /** `list` is not empty. */
  constructor(upstream: string, list: readonly UpstreamKey[], events: UpstreamEvents) {
    this.list = list
    this.#upstream = upstream
    this.#events = events
    this.#credit = list.map(() => 0)
  }
  /** Whether a 429 rests a key instead of the address. */
  get areSeveral(): boolean {
    return this.list.length > 1
  }
  isAvailable(target: string, now: number): boolean {
    return this.list.some(({ health }) => health.isAvailable(target, now))
  }
  /** When a key can be used again: decides between upstreams of which none has one. */
  availableAt(target: string): number {
    return Math.min(...this.list.map(({ health }) => health.availableAt(target)))
  }
  /** The key of this name, if there is one. Otherwise the key whose turn it is among those that do
   *  not rest; if all rest, the one whose rest ends first. */
  pick(target: string, now: number, mayProbe: boolean, pinned?: string): UpstreamKey {
    const only = this.list[0] as UpstreamKey
    if (this.list.length === 1) return only
    const own = pinned === undefined ? undefined : this.list.find(({ name }) => name === pinned)
    return own ?? this.#next(target, now, mayProbe) ?? this.#soonest(target) ?? only
  }
  /** Records the status of a response. */
  recordResponse(
    key: UpstreamKey,
    status: number,
    retryAfter: string | string[] | undefined,
    { target, sentAt, now }: KeyUse,
  ): void {
    if (status === 401) return this.refuse(key, sentAt, now)
    if (status < 400 || status === 429) {
      if (key.health.recordSuccess(sentAt)) this.#events.onKeyReturn(this.#upstream, key.name)
    } else key.health.recordAbandoned()
    if (status !== 429 || !this.areSeveral) return
    const ms = limitTime(retryAfter)
    if (key.health.limit(target, now, ms))
      this.#events.onKeyRest(this.#upstream, key.name, { reason: 'limited', ms, target })
  }
  refuse(key: UpstreamKey, sentAt: number, now: number): void {
    const ms = key.health.recordRefusal(sentAt, now)
    if (ms > 0) this.#events.onKeyRest(this.#upstream, key.name, { reason: 'refused', ms })
  }
  #next(target: string, now: number, mayProbe: boolean): UpstreamKey | undefined {
    let total = 0
    let best = -1
    for (const [index, { health, weight }] of this.list.entries()) {
      if (!health.isAvailable(target, now, mayProbe)) continue
      total += weight
      const credit = (this.#credit[index] ?? 0) + weight
      this.#credit[index] = credit
      if (best < 0 || credit > (this.#credit[best] ?? 0)) best = index
    }
    if (best >= 0) this.#credit[best] = (this.#credit[best] ?? 0) - total
    return this.list[best]
  }
  #soonest(target: string): UpstreamKey | undefined {
    return this.list.toSorted(
      (one, two) => one.health.availableAt(target) - two.health.availableAt(target),
    )[0]
  }
}
