/** The client format of a route, for plugins that read requests. */
import type { Host, Route } from '../../engine/plugin.ts'
import type { Format } from '../formats/format.ts'
import { formatOf, formatsOf } from '../formats/index.ts'

interface FormatHost extends Partial<Pick<Host, 'formats'>> {
  readonly route: Pick<Route, 'option'>
}
/** Undefined if the route names none: its bytes pass unread. */
export const routeFormat = (host: FormatHost): Format | undefined =>
  formatOf(host.route.option('translate'), formatsOf(host).clients)

/** Whether clients of the route ask for embeddings. */
export const isForEmbeddings = (route: Pick<Route, 'option'>): boolean =>
  route.option('embed') !== undefined
