/** The client format of a route, for plugins that read requests. */
import { isFields } from '../../engine/kit.ts'
import type { Host, Json, Route } from '../../engine/plugin.ts'
import type { Format } from '../formats/format.ts'
import { formatOf, formatsOf } from '../formats/index.ts'
import { SECONDS_MEMBERS, type SecondsOrder, USUAL_ORDER } from '../formats/seconds-order.ts'

export { ToolKeeping } from './tool-keeping.ts'

interface FormatHost extends Partial<Pick<Host, 'formats'>> {
  readonly route: Pick<Route, 'option'> & Partial<Pick<Route, 'pattern'>>
}
/** Undefined if the route names none: its bytes pass unread. */
export const routeFormat = (host: FormatHost): Format | undefined =>
  formatOf(host.route.option('translate'), formatsOf(host).clients)

/** Whether clients of the route open WebSockets of the realtime format. */
export const isRealtime = (route: Pick<Route, 'option'>): boolean =>
  route.option('realtime') === true

/** Whether clients of the route ask for embeddings. */
export const isForEmbeddings = (route: Pick<Route, 'option'>): boolean =>
  route.option('embed') !== undefined

/** Settings that a request may leave to the provider of an image or a search: the answer may say
 *  what the provider chose. */
const OPEN_ATTRIBUTES: readonly string[] = [
  'quality',
  'size',
  'resolution',
  'background',
  'search_context_size',
]
/** Plugins whose routes say where a later answer reports usage and attributes. */
const REPORTING_PLUGINS = ['task'] as const
/** The attributes of the price that answers of a route may name although the request does not. */
export const openAttributesOf = (host: FormatHost): readonly string[] => {
  if (routeFormat(host)) return OPEN_ATTRIBUTES
  return REPORTING_PLUGINS.flatMap(plugin => {
    const options = host.route.option(plugin) as ReportingOptions | undefined
    return Object.keys(options?.poll?.usage ?? {})
  })
}
interface ReportingOptions {
  readonly poll?: { readonly usage?: Readonly<Record<string, string>> }
}

/** The plugin whose routes say which members of a request the upstream gets. */
const [ORDERING_PLUGIN] = REPORTING_PLUGINS
/** How requests of a route order the seconds of a clip. A transcription orders none. */
export const secondsOrderOf = (host: FormatHost): SecondsOrder => {
  const { route } = host
  if (routeFormat(host)?.name === 'openai-transcription') return { ...USUAL_ORDER, members: [] }
  const { dialect, submit = {} } =
    (route.option(ORDERING_PLUGIN) as OrderingOptions | undefined) ?? {}
  const ways = [submit, ...Object.values(submit.with ?? {})]
  const isOfSegments =
    dialect === 'vidu' &&
    ways.some(({ path = route.pattern, body }) => !body && path?.endsWith('/multiframe'))
  const names = ways.flatMap(({ body }) => (body ? membersIn(body) : SECONDS_MEMBERS))
  const members = SECONDS_MEMBERS.filter(name => names.includes(name))
  return {
    members: members.length > 0 ? members : SECONDS_MEMBERS,
    areSent: members.length > 0,
    hasSegments: isOfSegments || names.includes('image_settings'),
  }
}
/** The members of the request that the body at the upstream names: `/seconds`. */
const membersIn = (places: Json): readonly string[] => {
  if (typeof places === 'string') return places.startsWith('/') ? [places.split('/')[1] ?? ''] : []
  if (Array.isArray(places)) return places.flatMap(membersIn)
  return isFields(places) ? Object.values(places).flatMap(each => membersIn(each as Json)) : []
}
interface Submit {
  readonly path?: string
  readonly body?: Json
}
interface OrderingOptions {
  readonly dialect?: string
  readonly submit?: Submit & { readonly with?: Readonly<Record<string, Submit>> }
}
