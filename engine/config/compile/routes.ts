/** Compiles all routes, and the forward ring of calls without one. */
import type { Document } from '../../plugin.ts'
import type { CompiledRoute } from '../../snapshot/snapshot.ts'
import { compileDirectRing } from './direct-ring.ts'
import { compileRoute, type RouteContext } from './route.ts'
import type { RouteOptions } from './route-options.ts'

export const compileRoutes = async (document: Document, context: RouteContext) => {
  const routes: CompiledRoute[] = []
  const entries = (document.routes ?? []) as unknown as readonly RouteOptions[]
  for (const [index, options] of entries.entries())
    routes.push(await compileRoute(options, index, context))
  return { routes, forwardDirect: await compileDirectRing(context) }
}
