/** Whether a route validates its bodies, for plugins that store them. */
import type { Route } from '../../engine/plugin.ts'

export const isValidated = (route: Pick<Route, 'has'>): boolean => route.has('validate')
