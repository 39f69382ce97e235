/** Groups the quantities of a call by the meter whose lines price them. Pure. */
import type { Meter } from '../slots.ts'
import { isIncluded } from './meters.ts'
import type { Rule } from './rule.ts'

export interface Folded {
  /** By the meter whose lines price it. */
  readonly homes: ReadonlyMap<Meter, Used>
  /** Counted meters without a line, or priced by the line of a cheaper meter. */
  readonly unpriced: readonly Meter[]
}
export interface Used {
  readonly quantity: bigint
  /** Meters without lines of their own in this quantity, and their parts of it. */
  readonly joined: ReadonlyMap<Meter, bigint>
}

export const fold = (
  quantities: ReadonlyMap<Meter, bigint>,
  { priced, homes: places }: Rule,
): Folded => {
  const homes = new Map<Meter, { quantity: bigint; readonly joined: Map<Meter, bigint> }>()
  const unpriced: Meter[] = []
  for (const [meter, quantity] of quantities) {
    const home = places.get(meter)
    if (home ? !home.exact : !isIncluded(meter, priced)) unpriced.push(meter)
    if (!home) continue
    const shared = homes.get(home.meter) ?? { quantity: 0n, joined: new Map() }
    shared.quantity += quantity
    if (meter !== home.meter) shared.joined.set(meter, quantity)
    homes.set(home.meter, shared)
  }
  return { homes, unpriced }
}
