/** What a route says of the schema of its bodies, for plugins that store what it let through. */
import type { Route } from '../../engine/plugin.ts'

export const isValidated = (route: Pick<Route, 'has'>): boolean => route.has('validate')
