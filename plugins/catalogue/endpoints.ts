/** The endpoints that serve a model: those with a route that reaches one of its targets, translated
 *  or passed through, and those whose tasks or conversations it takes. */
import { isFields } from '../../engine/kit.ts'
import type { HostBase, Json } from '../../engine/plugin.ts'
import { EMBEDDINGS, embeddingFormatFor, embeddingFormats } from '../formats/embedding.ts'
import { type Formats, formatOf, formatsOf } from '../formats/index.ts'
import { canReach } from '../formats/reachability.ts'
import { supportedFormats } from '../formats/supported-formats.ts'
import type { Entry } from './catalogue.ts'

export interface RouteOptions {
  readonly path: string
  readonly name?: string
  readonly translate?: Json
  readonly embed?: Json
  readonly count?: Json
  readonly realtime?: Json
  readonly task?: Json
}
/** Endpoint name in model lists -> the routes that serve it. */
export type EndpointRoutes = ReadonlyMap<string, readonly RouteOptions[]>

type RouteHost = Pick<HostBase, 'section'> & Partial<Pick<HostBase, 'formats'>>
export const endpointRoutes = (host: RouteHost): EndpointRoutes => {
  const formats = formatsOf(host)
  const routesByEndpoint = Map.groupBy(routesIn(host), route => endpointOf(route, formats))
  routesByEndpoint.delete('')
  return routesByEndpoint
}
const routesIn = ({ section }: Pick<HostBase, 'section'>): readonly RouteOptions[] => {
  const routes = section<readonly RouteOptions[]>('routes')
  return Array.isArray(routes) ? routes : []
}
const REALTIME = 'realtime'
/** Dialects of tasks -> names of their endpoints. */
const TASK_ENDPOINTS: Readonly<Record<string, string>> = {
  vidu: 'vidu',
  midjourney: 'midjourney',
  'openai-videos': 'openai-video',
}
const endpointOf = (
  { translate, embed, realtime, task }: RouteOptions,
  { clients }: Formats,
): string => {
  if (embed !== undefined) return EMBEDDINGS
  if (realtime !== undefined) return REALTIME
  const { dialect, view } = isFields(task) ? task : {}
  if (dialect !== undefined && view === undefined) return TASK_ENDPOINTS[String(dialect)] ?? ''
  return formatOf(translate, clients)?.endpoint ?? ''
}

/** The endpoints of the targets' own formats first, then translated ones. */
export const endpointsOf = (
  entry: Entry,
  upstreams: HostBase['upstreams'],
  routesByEndpoint: EndpointRoutes,
  host: Partial<Pick<HostBase, 'formats'>> = {},
): readonly string[] => {
  const formats = formatsOf(host)
  const formatsByTarget = entry.targets.map(target =>
    supportedFormats(target, upstreams[target.upstream]),
  )
  const own = formatsByTarget.flat().flatMap(name => endpointOfFormat(name, formats))
  return [...new Set([...own, ...routesByEndpoint.keys()])].filter(endpoint =>
    routesByEndpoint.get(endpoint)?.some(route => serves(route, entry, formatsByTarget, formats)),
  )
}
const serves = (
  route: RouteOptions,
  entry: Entry,
  formatsByTarget: readonly (readonly string[])[],
  formats: Formats,
): boolean => {
  if (!accepts(entry, route)) return false
  const { realtime, task } = route
  // Any model can be named there, and only those made for it can speak.
  if (realtime !== undefined) return entry.only?.has(route.name ?? route.path) === true
  const { upstreams } = isFields(task) ? task : {}
  if (Array.isArray(upstreams))
    return entry.targets.some(({ upstream }) => upstreams.includes(upstream))
  return formatsByTarget.some(each => reachesTarget(route, each, formats))
}

/** Google's names of the methods that serve a model: the ends of the paths of their routes. Google
 *  lists no method for streams. */
export const nativeMethodsOf = (
  entry: Entry,
  host: RouteHost & Pick<HostBase, 'upstreams'>,
): readonly string[] => {
  const formatsByTarget = entry.targets.map(target =>
    supportedFormats(target, host.upstreams[target.upstream]),
  )
  const formats = formatsOf(host)
  const methods = routesIn(host).flatMap(route => {
    const [, method = 'stream'] = /:([A-Za-z]+)$/.exec(route.path) ?? []
    return !method.startsWith('stream') && serves(route, entry, formatsByTarget, formats)
      ? method
      : []
  })
  return [...new Set(methods)].sort((one, other) => rankOf(one) - rankOf(other))
}
/** What makes content comes before what counts its tokens. */
const rankOf = (method: string): number => Number(method.startsWith('count'))
const endpointOfFormat = (format: string, { clients }: Formats): string | readonly [] =>
  embeddingFormats.includes(format) ? EMBEDDINGS : (clients.get(format)?.endpoint ?? [])
/** Whether the route reaches a target that supports these formats. */
const reachesTarget = (
  { translate, embed, count }: RouteOptions,
  targetFormats: readonly string[],
  { clients, targets }: Formats,
): boolean => {
  if (embed !== undefined) return embeddingFormatFor(targetFormats) !== undefined
  const client = formatOf(translate ?? count, clients)
  return client !== undefined && canReach(client, targetFormats, targets)
}
const accepts = ({ accepts: rules, only }: Entry, { name, path }: RouteOptions): boolean => {
  const route = name ?? path
  if (only && !only.has(route)) return false
  return (rules.get(route) ?? rules.get('*')) !== false
}
