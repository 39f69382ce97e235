/** The prices of a configuration, and a request without the tiers that have no price. */
import type { Document, Exchange, Host, HostBase } from '../../../engine/plugin.ts'
import type { BillingOptions } from '../../billing/schema.ts'
import { modelsOf } from '../../catalogue/configured.ts'
import type { DroppedFieldReport } from '../../conversion/dropped-fields.ts'
import { TierGate } from '../../conversion/tier-gate.ts'
import { withoutMembers } from '../../conversion/unpriced-tiers.ts'
import type { Fields } from '../../formats/fields.ts'
import { MODEL } from '../../slots.ts'
import { applyOverride, overrideOf, Prices } from '../prices.ts'

export const pricesOf = (host: HostBase): Prices =>
  new Prices({
    models: modelsOf(host),
    settings: host.section('settings'),
    upstreams: optionsOf(host.upstreams),
  })
const optionsOf = (upstreams: HostBase['upstreams']): Document[string] =>
  Object.fromEntries(Object.entries(upstreams).map(([name, { options }]) => [name, options]))

/** Compiled once for each version of the configuration. */
export const sharedPrices = (host: HostBase): Prices =>
  host.share('prices', host.config.hash, () => pricesOf(host))

/** A request that is sent after its client is answered, without the tiers that its model does not
 *  price. `dropped`: for the client. Throws METER_TIER or FIELD_LOST. */
export const withoutUnpriced = (
  host: Host,
  exchange: Exchange,
  body: Fields,
): { readonly body: Fields; readonly dropped?: DroppedFieldReport } => {
  const model = exchange.slots.get(MODEL)
  const prices = sharedPrices(host)
  const options = (host.route.option('meter') ?? {}) as BillingOptions
  const price = model && applyOverride(prices.of(model.entry), overrideOf(options, prices.currency))
  if (!model || !price || price.rule.free) return { body }
  const { rule, tierRule } = price
  const gated = { model: model.asked, tierRule, tiers: rule.tiers }
  const excess = new TierGate(host).find(exchange, body, gated)
  if (!excess) return { body }
  return { body: withoutMembers(body, excess.unpriced) as Fields, dropped: excess.dropped }
}
