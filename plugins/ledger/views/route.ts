/** Readers of a route's price options, for other plugins. */
import type { Json, Route } from '../../../engine/plugin.ts'
import type { BillingOptions } from '../../billing/schema.ts'

/** The price of a route, which replaces the prices of its models. */
export const routePrice = (route: Pick<Route, 'option'>): BillingOptions =>
  (route.option('meter') ?? {}) as BillingOptions
export const isMetered = (route: Pick<Route, 'has'>): boolean => route.has('meter')
/** Whether the calls of the route are metered and not free. */
export const isPaid = (route: Pick<Route, 'has' | 'option'>): boolean =>
  isMetered(route) && !isFree(route.option('meter'))
const isFree = (option: Json | undefined): boolean =>
  (option as { readonly free?: Json } | null | undefined)?.free === true
