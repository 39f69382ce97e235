/** The keys of an upstream: which one an attempt uses, and which rest. Pure: times are arguments,
 *  ms, monotonic. A refused key rests as an address is ejected, until one attempt shows that it
 *  works again; a limited one (429) rests for the target of that name only. */
import type { KeyLimiter, Target } from '../plugin.ts'
import { stayAt } from './affinity.ts'
import { Health } from './health.ts'

export interface UpstreamKey {
  /** Identifies the key without showing it. */
  readonly name: string
  /** As it is sent, behind its prefix. */
  readonly value: string
  readonly weight: number
  readonly health: KeyHealth
  /** Set by a plugin that limits it. */
  limiter?: KeyLimiter
}

const NO_KEYS: readonly UpstreamKey[] = []
/** The first rest of a refused key, and the longest, ms. */
const REST = { first: 60_000, longest: 600_000 }

export class KeyHealth extends Health {
  /** Name of a target -> end of its limit. */
  readonly limits = new Map<string, number>()
  #refusals = 0
  /** When the first of its limits began. */
  #limitedAt = 0

  /** `mayProbe`: whether the attempt may be the one that finds out if the key works again. */
  isUsable(target: string, now: number, mayProbe = true): boolean {
    if (now < (this.limits.get(target) ?? 0)) return false
    return this.isAvailable(now) && (mayProbe || !this.needsProbe)
  }
  usableAt(target: string): number {
    return Math.max(this.availableAt, this.limits.get(target) ?? 0)
  }
  /** Records the status of a response to an attempt that began at `sentAt`. */
  recordStatus(status: number, sentAt: number, now: number): void {
    if (status === 401) this.refuse(sentAt, now)
    else if (status >= 400 && status !== 429) this.recordAbandoned()
    // A call that began before the end of the rest proves nothing.
    else if (sentAt >= this.availableAt) this.recordSuccess(now)
  }
  /** All calls under way may see one refusal: those that began before its end add nothing. */
  refuse(sentAt: number, now: number): void {
    if (sentAt < this.availableAt) return
    const eject = Math.min(REST.first * 2 ** this.#refusals++, REST.longest)
    this.recordFailure(now, { failures: 1, eject })
  }
  override recordSuccess(now: number): void {
    this.#refusals = 0
    super.recordSuccess(now)
  }
  /** A key that is limited for a target is in that state, too. */
  override since(now: number): number | undefined {
    const end = Math.max(0, ...this.limits.values())
    if (this.needsProbe || end === 0) return super.since(now)
    return now < end ? this.#limitedAt : Math.max(end, super.since(now) ?? 0)
  }
  limit(target: string, ms: number, now: number, reason: 'limited' | 'steered' = 'limited'): void {
    for (const [name, until] of this.limits) if (until <= now) this.limits.delete(name)
    if (this.limits.size === 0) this.#limitedAt = now
    if (!this.limits.has(target)) this.listener?.onLimit?.(ms, target, reason)
    this.limits.set(target, Math.max(this.limits.get(target) ?? 0, now + ms))
  }
}

export class UpstreamKeys {
  readonly list: readonly UpstreamKey[]
  /** Smooth weighted round robin: what each key is owed. */
  readonly #credit: number[]

  /** `list` is not empty. */
  constructor(list: readonly UpstreamKey[]) {
    this.list = list
    this.#credit = list.map(() => 0)
  }
  isUsable(target: string, now: number, except?: UpstreamKey): boolean {
    return this.list.some(key => key !== except && key.health.isUsable(target, now))
  }
  usableAt(target: string): number {
    return Math.min(...this.list.map(({ health }) => health.usableAt(target)))
  }
  /** The key of the pin; otherwise that of the conversation, or the one whose turn it is, among
   *  those that do not rest; if all rest, the one whose rest ends first. `failed`: keys that this
   *  call has tried. */
  pick(target: Target, now: number, mayProbe: boolean, failed = NO_KEYS): UpstreamKey {
    const { name = '', pin } = target
    const only = this.list[0] as UpstreamKey
    if (this.list.length === 1) return only
    const own = pin?.key === undefined ? undefined : this.list.find(each => each.name === pin.key)
    const next = own ?? this.next(target, now, mayProbe, failed)
    const rest = ({ health }: UpstreamKey): number => health.usableAt(name)
    return next ?? this.list.toSorted((one, other) => rest(one) - rest(other))[0] ?? only
  }
  /** The same; undefined if all of them rest. */
  next({ name = '', affinity }: Target, now: number, mayProbe: boolean, failed = NO_KEYS) {
    const isUsable = (key: UpstreamKey) =>
      key.health.isUsable(name, now, mayProbe) && !failed.includes(key)
    if (affinity !== undefined) return stayAt(this.list.filter(isUsable), affinity, key => key)
    let total = 0
    let best = -1
    for (const [index, key] of this.list.entries()) {
      if (!isUsable(key)) continue
      const { weight } = key
      total += weight
      const credit = (this.#credit[index] ?? 0) + weight
      this.#credit[index] = credit
      if (best < 0 || credit > (this.#credit[best] ?? 0)) best = index
    }
    if (best >= 0) this.#credit[best] = (this.#credit[best] ?? 0) - total
    return this.list[best]
  }
}
