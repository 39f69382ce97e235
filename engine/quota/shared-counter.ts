/** One shared counter at the owner: units in use, workers with units, and pending requests. */
import type { SupplyKind, UnitRequest, UnusedUnits } from './channel.ts'

/** `unitsInUse`: units that workers have, or that this window has used. */
export interface SharedCounter {
  readonly kind: SupplyKind
  readonly name: string
  readonly key: string
  since: number
  ends: number
  unitsInUse: bigint
  readonly holders: Map<number, bigint>
  /** Workers that may have unused units. */
  readonly outstanding: Set<number>
  readonly pending: { readonly worker: number; readonly request: UnitRequest }[]
  /** Workers that have not responded to the revocation of `round`. */
  readonly revoking: Set<number>
  round: number
  timer: NodeJS.Timeout | undefined
  /** The budget lease of this machine, if machines share the counter. */
  readonly lease: BudgetLease
}
/** Units that this machine has leased from the store. */
interface BudgetLease {
  /** Leased units. */
  units: bigint
  /** Units left in the store at the last request. */
  remaining: bigint
  /** Start of the window in the store; '' = unknown. */
  windowStart: string
  /** Whether a request to the store is pending. */
  isRequesting: boolean
  /** Time (ms) of the next allowed request to the store. */
  retryAt: number
  /** Another machine was refused: unused units must be returned. */
  isReturnRequested: boolean
  /** Time of the last use. */
  lastUse: number
}

export const createCounter = ({ kind, name, key }: UnusedUnits, now: number): SharedCounter => ({
  kind,
  name,
  key,
  since: now,
  ends: now,
  unitsInUse: 0n,
  holders: new Map(),
  outstanding: new Set(),
  pending: [],
  revoking: new Set(),
  round: 0,
  timer: undefined,
  lease: {
    units: 0n,
    remaining: 0n,
    windowStart: '',
    isRequesting: false,
    retryAt: 0,
    isReturnRequested: false,
    lastUse: now,
  },
})
/** Starts a new window. */
export const startWindow = (counter: SharedCounter, now: number): void => {
  counter.since = now
  counter.unitsInUse = 0n
  counter.outstanding.clear()
  counter.lease.units = 0n
  counter.lease.windowStart = ''
  counter.lease.retryAt = 0
}
