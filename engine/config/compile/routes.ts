/** Compiles all routes; the forward ring of calls without a route only at the first such call. */
import type { Document } from '../../plugin.ts'
import { createIds } from '../../request/ids.ts'
import type { CompiledRoute } from '../../snapshot/snapshot.ts'
import { compileDirectRing } from './direct-ring.ts'
import { compileRoute, type RouteContext } from './route.ts'
import type { RouteOptions } from './route-options.ts'

export const compileRoutes = async (
  document: Document,
  contextWithoutIds: Omit<RouteContext, 'spanId'>,
) => {
  const ids = createIds()
  const context = { ...contextWithoutIds, spanId: () => ids(8) }
  const routes: CompiledRoute[] = []
  const entries = (document.routes ?? []) as unknown as readonly RouteOptions[]
  for (const [index, options] of entries.entries())
    routes.push(await compileRoute(options, index, context))
  let directRing: ReturnType<typeof compileDirectRing> | undefined
  return { routes, directRing: () => (directRing ??= compileDirectRing(context)) }
}
