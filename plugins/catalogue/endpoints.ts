/** By which endpoints a model can be reached: where a route leads to one of its targets, through translation or as it is. */
import type { Json, Lent, Target } from '../../engine/plugin.ts'
import { formatOf, formats } from '../formats/index.ts'
import type { Entry } from './catalogue.ts'

export interface RouteOptions {
  readonly path: string
  readonly name?: string
  readonly translate?: Json
}
/** The name that lists give an endpoint, to the routes that serve it. */
export type Served = ReadonlyMap<string, readonly RouteOptions[]>

export const servedBy = ({ section }: Pick<Lent, 'section'>): Served => {
  const routes = section<readonly RouteOptions[]>('routes')
  const served = Map.groupBy(Array.isArray(routes) ? routes : [], endpointOf)
  served.delete('')
  return served
}
const endpointOf = ({ translate }: RouteOptions): string => formatOf(translate)?.endpoint ?? ''

/** Its targets' own formats first, then those it is translated from. */
export const endpointsOf = (
  entry: Entry,
  upstreams: Lent['upstreams'],
  served: Served,
): readonly string[] => {
  const spoken = entry.targets.flatMap(target => spokenBy(target, upstreams))
  const own = spoken.flatMap(name => formats.get(name)?.endpoint ?? [])
  return [...new Set([...own, ...served.keys()])].filter(endpoint =>
    served.get(endpoint)?.some(route => accepts(entry, route) && reaches(spoken, route)),
  )
}
const spokenBy = (
  { upstream, traits }: Target,
  upstreams: Lent['upstreams'],
): readonly string[] => {
  const given = traits?.formats ?? upstreams[upstream]?.options.formats
  return Array.isArray(given) ? given.map(String) : []
}
/** From one format to another where both can be read into the hub. */
const reaches = (spoken: readonly string[], { translate }: RouteOptions): boolean => {
  const client = formatOf(translate)
  return spoken.some(
    name => name === client?.name || (client?.codec !== undefined && formats.get(name)?.codec),
  )
}
const accepts = ({ accepts: rules, only }: Entry, { name, path }: RouteOptions): boolean => {
  const route = name ?? path
  if (only && !only.has(route)) return false
  return (rules.get(route) ?? rules.get('*')) !== false
}
