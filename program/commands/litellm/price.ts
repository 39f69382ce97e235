/** The price of a deployment, by what LiteLLM calculates costs from. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import { usd } from '../starter/texts.ts'
import type { LitellmSource, Path } from './source.ts'
import type { PriceMember, Tables } from './tables.ts'

const UNITS = { '1M': 1e6, '1k': 1e3 } as const
interface Amount extends PriceMember {
  readonly text: string
  readonly path: Path
}

/** `price` of the model; undefined without any. `places`: of the members, the first that has one
 *  wins. */
export const priceOf = (
  source: LitellmSource,
  places: readonly Path[],
  mode: string,
  { prices }: Tables,
): { readonly [meter: string]: Json } | undefined => {
  const amounts = Object.entries(prices).flatMap(([name, member]) =>
    member.modes?.includes(mode) === false ? [] : (amountAt(source, places, name, member) ?? []),
  )
  const price: Record<string, Json> = {}
  for (const [meter, lines] of Map.groupBy(amounts, each => each.meter)) {
    const line = lineOf(lines)
    if (line !== undefined) price[meter] = line
    else
      for (const { path } of lines)
        source.note(path, `it needs the price of ${meter} without a condition`)
  }
  return Object.keys(price).length > 0 ? price : undefined
}

const amountAt = (
  source: LitellmSource,
  places: readonly Path[],
  name: string,
  member: PriceMember,
): Amount | undefined => {
  for (const place of places) {
    const path = [...place, name]
    const cost = source.number(path)
    if (cost === undefined) continue
    const { per } = member
    const text = per === undefined ? `${usd(cost)} USD` : `${usd(cost * UNITS[per])} USD / ${per}`
    return { ...member, text, path }
  }
  return undefined
}

/** An amount, with those of tiers and of long prompts where they are; undefined if there is none
 *  without a condition. */
const lineOf = (amounts: readonly Amount[]): Json | undefined => {
  const base = amounts.find(({ above, tier }) => above === undefined && tier === undefined)
  if (!base) return undefined
  const tiers = amounts.filter(({ tier }) => tier !== undefined)
  const table = {
    by: 'service_tier',
    price: {
      ...Object.fromEntries(tiers.map(({ tier, text }) => [tier, text])),
      default: base.text,
    },
  }
  const long = amounts
    .filter(({ above }) => above !== undefined)
    .toSorted(
      (one, other) => Number.parseInt(other.above ?? '', 10) - Number.parseInt(one.above ?? '', 10),
    )
    .map(({ text, above }) => ({ price: text, when: { prompt: `> ${above}` } }))
  const last = tiers.length > 0 ? table : base.text
  return long.length > 0 ? [...long, last] : last
}
