/** One number as the owner knows it: what is out, who may have some, who waits. */
import type { Ask, Handed, Kind } from './channel.ts'

/** `out`: units that the workers have, or that are used up for this window. */
export interface Count {
  readonly kind: Kind
  readonly name: string
  readonly key: string
  since: number
  ends: number
  out: bigint
  readonly holders: Map<number, bigint>
  /** Workers that may have units lying unused. */
  readonly loose: Set<number>
  readonly waiting: { readonly worker: number; readonly ask: Ask }[]
  /** Workers whose answer to the recall `round` is awaited. */
  readonly recalled: Set<number>
  round: number
  timer: NodeJS.Timeout | undefined
  /** Where machines share it. */
  readonly lease: Lease
}
/** This machine's part of a number that stands in a store. */
interface Lease {
  /** Slices that it has. */
  units: bigint
  /** In the store, when it was last asked. */
  left: bigint
  /** Which window of the store's they are of; '' = it has not said. */
  began: string
  /** The store is being asked. */
  asking: boolean
  /** ms, until which the store is not asked again. */
  again: number
  /** Another machine was refused: what lies unused here goes back. */
  wanted: boolean
  /** When it was last asked for. */
  used: number
}

export const newCount = ({ kind, name, key }: Handed, now: number): Count => ({
  ...{ kind, name, key, since: now, ends: now, out: 0n },
  ...{ holders: new Map(), loose: new Set(), waiting: [], recalled: new Set() },
  ...{ round: 0, timer: undefined },
  lease: { units: 0n, left: 0n, began: '', asking: false, again: 0, wanted: false, used: now },
})
/** The window is over: nothing of it counts any more. */
export const renew = (count: Count, now: number): void => {
  count.since = now
  count.out = 0n
  count.loose.clear()
  Object.assign(count.lease, { units: 0n, began: '', again: 0 })
}
