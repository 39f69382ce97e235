/** Compiles the forward ring of calls without a route: `host.send`. */
import { DIRECT_ROUTE } from '../../egress/direct-send.ts'
import type { Json, Route } from '../../plugin.ts'
import { compose } from '../../request/pipeline.ts'
import type { CompiledRoute } from '../../snapshot/snapshot.ts'
import type { CompileFault } from './compile-problem.ts'
import { forwardHandlers, handlersOf, type RouteContext, setUpStages } from './route.ts'

/** The ring consists of the plugins that have a default. */
export const compileDirectRing = async (
  context: RouteContext,
): Promise<CompiledRoute['forwardWith']> => {
  const optionOf = (plugin: string) => context.plugins.get(plugin)?.default
  const route: Route = {
    ...DIRECT_ROUTE,
    has: plugin => optionOf(plugin) !== undefined,
    option: plugin => optionOf(plugin) as Json | undefined,
  }
  // A fault here occurs on every route, and is reported there.
  const faults: CompileFault[] = []
  const stages = await setUpStages({ path: 'ANY /' }, route, 0, { ...context, faults })
  const ring = handlersOf(forwardHandlers(stages))
  return last => compose(ring, last)
}
