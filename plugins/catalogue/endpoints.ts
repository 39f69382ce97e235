/** The endpoints that serve a model: those with a route that reaches one of its targets, translated
 *  or passed through. */
import type { HostBase, Json } from '../../engine/plugin.ts'
import { EMBEDDINGS, embeddingFormatFor, embeddingFormats } from '../formats/embedding.ts'
import { formatOf, formats } from '../formats/index.ts'
import { canReach } from '../formats/reachability.ts'
import { supportedFormats } from '../formats/supported-formats.ts'
import type { Entry } from './catalogue.ts'

export interface RouteOptions {
  readonly path: string
  readonly name?: string
  readonly translate?: Json
  readonly embed?: Json
}
/** Endpoint name in model lists -> the routes that serve it. */
export type EndpointRoutes = ReadonlyMap<string, readonly RouteOptions[]>

export const endpointRoutes = ({ section }: Pick<HostBase, 'section'>): EndpointRoutes => {
  const routes = section<readonly RouteOptions[]>('routes')
  const routesByEndpoint = Map.groupBy(Array.isArray(routes) ? routes : [], endpointOf)
  routesByEndpoint.delete('')
  return routesByEndpoint
}
const endpointOf = ({ translate, embed }: RouteOptions): string =>
  embed === undefined ? (formatOf(translate)?.endpoint ?? '') : EMBEDDINGS

/** The endpoints of the targets' own formats first, then translated ones. */
export const endpointsOf = (
  entry: Entry,
  upstreams: HostBase['upstreams'],
  routesByEndpoint: EndpointRoutes,
): readonly string[] => {
  const formatsByTarget = entry.targets.map(target =>
    supportedFormats(target, upstreams[target.upstream]),
  )
  const own = formatsByTarget.flat().flatMap(endpointOfFormat)
  return [...new Set([...own, ...routesByEndpoint.keys()])].filter(endpoint =>
    routesByEndpoint
      .get(endpoint)
      ?.some(
        route => accepts(entry, route) && formatsByTarget.some(each => reachesTarget(route, each)),
      ),
  )
}
const endpointOfFormat = (format: string): string | readonly [] =>
  embeddingFormats.includes(format) ? EMBEDDINGS : (formats.get(format)?.endpoint ?? [])
/** Whether the route reaches a target that supports these formats. */
const reachesTarget = (
  { translate, embed }: RouteOptions,
  targetFormats: readonly string[],
): boolean => {
  if (embed !== undefined) return embeddingFormatFor(targetFormats) !== undefined
  const client = formatOf(translate)
  return client !== undefined && canReach(client, targetFormats)
}
const accepts = ({ accepts: rules, only }: Entry, { name, path }: RouteOptions): boolean => {
  const route = name ?? path
  if (only && !only.has(route)) return false
  return (rules.get(route) ?? rules.get('*')) !== false
}
