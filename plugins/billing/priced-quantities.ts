/** Groups the quantities of a call by the meter whose lines price them. Pure. */
import type { Meter } from '../slots.ts'
import { isIncluded } from './meters.ts'
import type { Rule } from './rule.ts'

export interface PricedQuantities {
  /** By the meter whose lines price the quantity. */
  readonly byMeter: ReadonlyMap<Meter, PricedQuantity>
  /** Meters of the usage without a line, or with the price of a cheaper meter. */
  readonly unpriced: readonly Meter[]
}
export interface PricedQuantity {
  readonly quantity: bigint
  /** Meters without lines whose quantities this one contains, and those quantities. */
  readonly includedMeters: ReadonlyMap<Meter, bigint>
}

export const groupByPricingMeter = (
  quantities: ReadonlyMap<Meter, bigint>,
  { pricedMeters, pricingMeters }: Rule,
): PricedQuantities => {
  const byMeter = new Map<
    Meter,
    { quantity: bigint; readonly includedMeters: Map<Meter, bigint> }
  >()
  const unpriced: Meter[] = []
  for (const [meter, quantity] of quantities) {
    const pricingMeter = pricingMeters.get(meter)
    if (pricingMeter ? !pricingMeter.isExact : !isIncluded(meter, pricedMeters))
      unpriced.push(meter)
    if (!pricingMeter) continue
    const group = byMeter.get(pricingMeter.meter) ?? { quantity: 0n, includedMeters: new Map() }
    group.quantity += quantity
    if (meter !== pricingMeter.meter) group.includedMeters.set(meter, quantity)
    byMeter.set(pricingMeter.meter, group)
  }
  return { byMeter, unpriced }
}
