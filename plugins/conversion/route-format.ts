/** The client format of a route, for plugins that read requests. */
import type { Route } from '../../engine/plugin.ts'
import type { Format } from '../formats/format.ts'
import { formatOf } from '../formats/index.ts'

/** Undefined if the route names none: its bytes pass unread. */
export const routeFormat = (route: Pick<Route, 'option'>): Format | undefined =>
  formatOf(route.option('translate'))
