/** `tollgate models`: prints the catalogue, or how one name resolves. */
import { columns } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { Command, HostBase, Json, Target } from '../../engine/plugin.ts'
import { type Catalogue, type Entry, fallbacksOf } from '../catalogue/catalogue.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import { Endpoints } from '../catalogue/endpoints.ts'

interface ModelRow {
  readonly name: string
  readonly to: readonly string[]
  readonly aliases?: readonly string[]
  readonly fallback?: readonly string[]
  readonly endpoints: readonly string[]
  readonly price: Json
}

export const commands: Readonly<Record<string, Command>> = {
  models: {
    arguments: '[NAME]',
    summary: 'Lists the models that customers can request, their targets and their prices.',
    example: 'tollgate models gp-4.1',
    async run({ positionals }, host) {
      const [name] = positionals
      const catalogue = readCatalogue(host)
      const rows =
        name === undefined ? catalogue.all.map(rowOf(host)) : resolvedRow(name, catalogue, host)
      if (!rows) throw fault('MODEL_UNKNOWN', [name])
      return { text: printRows(rows), json: rows }
    },
  },
}
const fault = errors({
  MODEL_UNKNOWN: [404, 'no model matches "%s"; `tollgate models` lists all models'],
})

const rowOf =
  (host: Pick<HostBase, 'upstreams' | 'section' | 'formats'>, endpoints = new Endpoints(host)) =>
  (entry: Entry): ModelRow => ({
    name: entry.name,
    to: entry.targets.map(nameOf),
    ...(entry.options.aliases && { aliases: entry.options.aliases }),
    ...(entry.options.fallback && { fallback: fallbacksOf(entry.options) }),
    endpoints: endpoints.of(entry),
    price: entry.options.free === true ? 'free' : (entry.options.price ?? {}),
  })
const resolvedRow = (
  name: string,
  catalogue: Catalogue,
  host: HostBase,
): readonly ModelRow[] | undefined => {
  const match = catalogue.find(name)
  return match && [{ ...rowOf(host)(match.entry), name, to: match.targets.map(nameOf) }]
}
const nameOf = ({ upstream, name }: Target): string =>
  name === undefined ? upstream : `${upstream}/${name}`

/** A price as text: the short form in words, the long form as JSON. */
const priceText = (price: Json): string => {
  if (typeof price === 'string') return price
  if (Array.isArray(price)) return JSON.stringify(price)
  const meters = Object.entries(price as { readonly [meter: string]: Json })
  return meters.map(([meter, each]) => `${meter} ${priceLineText(each)}`).join('; ')
}
const priceLineText = (each: Json): string => {
  if (Array.isArray(each)) return each.map(priceLineText).join(' or ')
  if (typeof each !== 'object' || each === null) return String(each)
  const { by, price = null, when, ...more } = each as PriceLine
  const rest = Object.entries(more).map(([name, value]) => `, ${name} ${value}`)
  const conditions = Object.entries(when ?? {}).map(([what, is]) => ` when ${what} ${is}`)
  return `${by ? `by ${[by].flat().join(' and ')} (${tableText(price)})` : priceLineText(price)}${rest.join('')}${conditions.join('')}`
}
const tableText = (price: Json): string =>
  Object.entries(Object(price) as { readonly [value: string]: Json })
    .map(([value, each]) => `${value} ${typeof each === 'object' ? `(${tableText(each)})` : each}`)
    .join(', ')
/** A price line in its long form. */
interface PriceLine {
  readonly by?: string | readonly string[]
  readonly price?: Json
  readonly when?: { readonly [what: string]: Json }
}

const printRows = (list: readonly ModelRow[]): string => {
  const rows = list.map(({ name, to, price }) => [name, to.join(', '), priceText(price)])
  return rows.length === 0 ? 'none' : columns(rows).join('\n')
}
