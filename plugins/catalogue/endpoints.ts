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
  readonly meter?: Json
}
type RouteHost = Pick<HostBase, 'section' | 'upstreams'> & Partial<Pick<HostBase, 'formats'>>

/** The endpoints of a configuration. */
export class Endpoints {
  /** Routes with prices of their own. */
  readonly priced: readonly RouteOptions[]
  /** Endpoint name in model lists -> the routes that serve it. */
  readonly routes: ReadonlyMap<string, readonly RouteOptions[]>
  readonly #formats: Formats
  readonly #upstreams: HostBase['upstreams']
  /** Endpoints of models without rules of their own, by the targets: thousands of models may have
   *  the same upstreams and formats. */
  readonly #known = new Map<string, readonly string[]>()

  constructor(host: RouteHost) {
    this.#formats = formatsOf(host)
    this.#upstreams = host.upstreams
    const all = routesIn(host)
    this.priced = all.filter(({ meter }) => isFields(meter) && meter.price !== undefined)
    const routes = Map.groupBy(all, route => endpointOf(route, this.#formats))
    routes.delete('')
    this.routes = routes
  }
  /** The endpoints of the targets' own formats first, then translated ones. */
  of(entry: Entry): readonly string[] {
    if (entry.accepts.size > 0 || entry.only) return this.#find(entry)
    const key = JSON.stringify(entry.targets.map(each => [each.upstream, each.traits?.formats]))
    const endpoints = this.#known.get(key) ?? this.#find(entry)
    this.#known.set(key, endpoints)
    return endpoints
  }
  /** The routes that serve it at prices of their own. */
  pricedRoutesOf(entry: Entry): readonly RouteOptions[] {
    if (this.priced.length === 0) return []
    const formatsByTarget = formatsOfTargets(entry, this.#upstreams)
    return this.priced.filter(route => serves(route, entry, formatsByTarget, this.#formats))
  }
  #find(entry: Entry): readonly string[] {
    const formats = this.#formats
    const formatsByTarget = formatsOfTargets(entry, this.#upstreams)
    const own = formatsByTarget.flat().flatMap(name => endpointOfFormat(name, formats))
    return [...new Set([...own, ...this.routes.keys()])].filter(endpoint =>
      this.routes.get(endpoint)?.some(route => serves(route, entry, formatsByTarget, formats)),
    )
  }
}
const formatsOfTargets = (entry: Entry, upstreams: HostBase['upstreams']) =>
  entry.targets.map(target => supportedFormats(target, upstreams[target.upstream]))
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
  'new-api-videos': 'video-generation',
  suno: 'suno',
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
export const nativeMethodsOf = (entry: Entry, host: RouteHost): readonly string[] => {
  const formatsByTarget = formatsOfTargets(entry, host.upstreams)
  const formats = formatsOf(host)
  const methods = routesIn(host).flatMap(route => {
    const [, method = 'stream'] = /:([A-Za-z]+)$/.exec(route.path) ?? []
    return !method.startsWith('stream') && serves(route, entry, formatsByTarget, formats)
      ? method
      : []
  })
  return [...new Set(methods)].sort((one, other) => rankOf(one) - rankOf(other))
}
/** Endpoints that make content come before those that count its tokens. */
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
