/** Which meters are priced together: one without lines joins the meter that stands in for it. Pure. */
import type { Meter } from '../slots.ts'
import { isIncluded } from './meters.ts'
import type { Rule } from './rule.ts'

export interface Folded {
  /** By the meter whose lines price it. */
  readonly homes: ReadonlyMap<Meter, Used>
  /** Counted, but with no line, or with one that was meant for something cheaper. */
  readonly unpriced: readonly Meter[]
}
export interface Used {
  readonly quantity: bigint
  /** Who joined, and with how much. */
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
