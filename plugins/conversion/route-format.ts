/** The client format of a route, for plugins that read requests. */
import type { Host, Route } from '../../engine/plugin.ts'
import type { Format } from '../formats/format.ts'
import { formatOf, formatsOf } from '../formats/index.ts'

export { ToolKeeping } from './tool-keeping.ts'

interface FormatHost extends Partial<Pick<Host, 'formats'>> {
  readonly route: Pick<Route, 'option'>
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
