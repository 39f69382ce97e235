/** What a route says of the price of its calls, for plugins beside the meter. */
import type { Json, Route } from '../../../engine/plugin.ts'
import type { BillingOptions } from '../../billing/rule.ts'

/** In place of what its models say. */
export const routePrice = (route: Pick<Route, 'option'>): BillingOptions =>
  (route.option('meter') ?? {}) as BillingOptions
export const isMetered = (route: Pick<Route, 'has'>): boolean => route.has('meter')
/** Whether its calls are metered and not free whatever they ask for. */
export const isPaid = (route: Pick<Route, 'has' | 'option'>): boolean =>
  isMetered(route) && !isFree(route.option('meter'))
const isFree = (option: Json | undefined): boolean =>
  (option as { readonly free?: Json } | null | undefined)?.free === true
