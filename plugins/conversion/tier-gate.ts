/** Decides what happens to tiers that a request asks for and its model does not price: they are
 *  left out, refused, or sent. */
import { oneOf, type RawOf } from '../../engine/config/shape.ts'
import { errors } from '../../engine/errors.ts'
import type { Exchange, Host, Json } from '../../engine/plugin.ts'
import type { PricedTiers } from '../formats/tiers.ts'
import { readStrict } from './client-format-option.ts'
import { DroppedFieldReport, isStrict } from './dropped-fields.ts'
import { leaveOutTiers, type UnpricedTiers, unpricedTiersOf } from './unpriced-tiers.ts'

const refusal = errors({
  METER_TIER: [400, 'This model is not offered with these options: %s. Leave them out.'],
})

/** `tiers:` of a model and of all models. */
export const TIER_RULE = oneOf(
  'What happens to a request for a service tier, a speed or a geography that the model does not price, or for another model of the provider: drop: it is sent without, which x-tollgate-dropped names; refuse: it is refused; pass: it is sent, and costs what the standard costs.',
  ['drop', 'refuse', 'pass'],
  { examples: ['refuse'] },
)
export type TierRule = RawOf<typeof TIER_RULE>

/** Plugins whose routes have a wire format, in which tiers have their meaning. */
const FORMAT_PLUGINS = ['translate', 'embed'] as const

export class TierGate {
  readonly #readsTiers: boolean
  /** Whether the route allows no field to be dropped. */
  readonly #isStrict: boolean
  constructor({ route }: Pick<Host, 'route'>) {
    const options = FORMAT_PLUGINS.map(plugin => route.option(plugin))
    this.#readsTiers = options.some(each => each !== undefined)
    this.#isStrict = options.some(each => readStrict(each))
  }
  /** Returns what was left out of the request; undefined: nothing. Throws METER_TIER or
   *  FIELD_LOST. */
  check(
    exchange: Exchange,
    body: Json,
    model: GatedModel,
  ): { readonly body: Json; readonly dropped: DroppedFieldReport } | undefined {
    const excess = this.find(exchange, body, model)
    return excess && { body: leaveOutTiers(exchange, excess.unpriced), dropped: excess.dropped }
  }
  /** The same for a request that another exchange sends: what is to be left out of it. */
  find(
    exchange: Exchange,
    body: Json,
    { model, tierRule, tiers }: GatedModel,
  ): { readonly unpriced: UnpricedTiers; readonly dropped: DroppedFieldReport } | undefined {
    if (tierRule === 'pass' || !this.#readsTiers) return undefined
    const unpriced = unpricedTiersOf(exchange.request, body, tiers)
    if (!unpriced) return undefined
    const { names } = unpriced
    if (tierRule === 'refuse')
      throw refusal('METER_TIER', [names.join(', ')], { param: names[0] ?? '' })
    const dropped = new DroppedFieldReport({})
    for (const name of names) dropped.add(name)
    if (isStrict(this.#isStrict, exchange)) dropped.refuse(model)
    return { unpriced, dropped }
  }
}
interface GatedModel {
  /** The name in the request. */
  readonly model: string
  readonly tierRule: TierRule
  /** The service tiers that its price names. */
  readonly tiers: PricedTiers
}
