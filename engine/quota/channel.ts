/** Messages between the workers of a machine and the counter owner in the primary. */

/** Ordered and lossless while both processes run: an IPC channel, or a pair in one process. `send`
 *  never throws. */
export interface Channel {
  send(message: unknown): void
  on(listener: (message: unknown) => void): void
}

/** Requests units; it carries the unused units of the worker. Amounts are decimal strings, since
 *  IPC uses JSON. */
export interface UnitRequest extends UnusedUnits {
  readonly verb: 'request'
  readonly id: number
  readonly amount: string
  readonly limit: string
  readonly ms: number
  /** The units are used already: granted in any case. */
  readonly isSpent?: true
}
export interface UnitReturn extends UnusedUnits {
  readonly verb: 'return'
  /** Round of the revocation that requested the units; 0 = none. */
  readonly round: number
}
export interface UnitGrant {
  readonly type: 'allowance'
  readonly verb: 'grant'
  readonly id: number
  readonly units: string
  /** Units left with the owner after this grant. */
  readonly remaining: string
  /** Start of the window of the units. */
  readonly since: number
  /** Time (`monotonic`) before which a further request is useless; 0 = at once. */
  readonly retryAt: number
}
export interface Revocation {
  readonly type: 'allowance'
  readonly verb: 'revoke'
  readonly kind: SupplyKind
  readonly round: number
  readonly name: string
  readonly key: string
}
/** Unused units that are returned, with the start of their window. */
export interface UnusedUnits {
  readonly type: 'allowance'
  readonly kind: SupplyKind
  readonly name: string
  readonly key: string
  readonly free: string
  readonly since: number
}
/** Kinds of supply; `held`: units of a concurrency limit. The words are part of stored counter ids,
 *  so they are not renamed. */
export type SupplyKind = 'window' | 'held'

// ---------------------------------------------------------------- machines

/** Owner to worker: an operation at the shared store on behalf of the machine. */
export type StoreOperation =
  | (CounterRef & {
      readonly verb: 'lease'
      readonly id: number
      readonly limit: string
      readonly ms: number
      readonly least: string
      readonly debt: string
    })
  /** `amount`: units to return for a window, units to keep for a held supply. */
  | (CounterRef & {
      readonly verb: 'unlease'
      readonly amount: string
      readonly windowStart: string
    })
  | { readonly type: 'allowance'; readonly verb: 'join'; readonly machine: string }
  | { readonly type: 'allowance'; readonly verb: 'check-refusals'; readonly since: string }
interface CounterRef {
  readonly type: 'allowance'
  readonly machine: string
  readonly kind: SupplyKind
  readonly number: string
}
/** Worker to owner: the result of an operation at the store. */
export type StoreResult =
  | LeaseResult
  /** Counters for which a machine was refused; `at`: store time of the last refusal. */
  | {
      readonly type: 'allowance'
      readonly verb: 'refusals'
      readonly numbers: readonly string[]
      readonly at: string
    }
  /** This worker stops: another one must act for the machine. */
  | { readonly type: 'allowance'; readonly verb: 'resign' }
  /** The store has expelled this machine. */
  | { readonly type: 'allowance'; readonly verb: 'expelled'; readonly machine: string }
/** Result of a lease request; without `units` if the store does not respond. */
export interface LeaseResult {
  readonly type: 'allowance'
  readonly verb: 'leased'
  readonly id: number
  readonly units?: string
  /** For a held supply: all units that the machine has. */
  readonly slice?: string
  /** Units left in the store. */
  readonly remaining?: string
  /** Start of the window by the store's clock, and ms from `requestedAt` until its end. */
  readonly windowStart?: string
  readonly ms?: number
  readonly requestedAt?: number
  readonly machines?: number
}
