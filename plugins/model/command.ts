/** `tollgate models`: the catalogue as an operator reads it, and what a name would come to. */
import { columns } from '../../engine/cli/kit.ts'
import { errors } from '../../engine/errors.ts'
import type { Command, Json, Lent, Target } from '../../engine/plugin.ts'
import type { Catalogue, Entry } from '../catalogue/catalogue.ts'
import { readCatalogue } from '../catalogue/configured.ts'
import { endpointsOf, servedBy } from '../catalogue/endpoints.ts'

interface Shown {
  readonly name: string
  readonly to: readonly string[]
  readonly endpoints: readonly string[]
  readonly price: Json
}

export const commands: Readonly<Record<string, Command>> = {
  models: {
    arguments: '[NAME]',
    summary: 'Lists what customers may ask for, where it is served and what it costs.',
    example: 'tollgate models gp-4.1',
    async run({ positionals }, host) {
      const [name] = positionals
      const catalogue = readCatalogue(host)
      const found = name === undefined ? catalogue.all.map(show(host)) : one(name, catalogue, host)
      if (!found) throw fault('MODEL_UNKNOWN', [name])
      return { text: printed(found), json: found }
    },
  },
}
const fault = errors({ MODEL_UNKNOWN: [404, 'no model answers to "%s"'] })

const show =
  (host: Pick<Lent, 'upstreams' | 'section'>, served = servedBy(host)) =>
  (entry: Entry): Shown => ({
    name: entry.name,
    to: entry.targets.map(nameOf),
    endpoints: endpointsOf(entry, host.upstreams, served),
    price: entry.options.free === true ? 'free' : (entry.options.price ?? {}),
  })
const one = (name: string, catalogue: Catalogue, host: Lent): readonly Shown[] | undefined => {
  const found = catalogue.find(name)
  return found && [{ ...show(host)(found.entry), name, to: found.targets.map(nameOf) }]
}
const nameOf = ({ upstream, name }: Target): string =>
  name === undefined ? upstream : `${upstream}/${name}`

/** The short form in words; the long form as it was written. */
const shown = (price: Json): string => {
  if (typeof price === 'string') return price
  if (Array.isArray(price)) return JSON.stringify(price)
  const meters = Object.entries(price as { readonly [meter: string]: Json })
  return meters.map(([meter, each]) => `${meter} ${plain(each)}`).join('; ')
}
const plain = (each: Json): string => {
  if (Array.isArray(each)) return each.map(plain).join(' or ')
  if (typeof each !== 'object' || each === null) return String(each)
  const { by, price = null, when, ...more } = each as Line
  const rest = Object.entries(more).map(([name, value]) => `, ${name} ${value}`)
  const held = Object.entries(when ?? {}).map(([what, is]) => ` when ${what} ${is}`)
  return `${by ? `by ${[by].flat().join(' and ')} (${table(price)})` : plain(price)}${rest.join('')}${held.join('')}`
}
const table = (price: Json): string =>
  Object.entries(Object(price) as { readonly [value: string]: Json })
    .map(([value, each]) => `${value} ${typeof each === 'object' ? `(${table(each)})` : each}`)
    .join(', ')
/** One line of a price, in its long form. */
interface Line {
  readonly by?: string | readonly string[]
  readonly price?: Json
  readonly when?: { readonly [what: string]: Json }
}

const printed = (list: readonly Shown[]): string => {
  const rows = list.map(({ name, to, price }) => [name, to.join(', '), shown(price)])
  return rows.length === 0 ? 'none' : columns(rows).join('\n')
}
