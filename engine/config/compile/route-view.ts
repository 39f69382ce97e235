/** The routes of a snapshot as plugins and operators see them. */
import type { Json, RouteDescription, RouteView, Stage } from '../../plugin.ts'
import type { CompiledRoute } from '../../snapshot/snapshot.ts'
import type { Blueprint } from './blueprint.ts'

/** `places`: where the routes are in the files, in the order of `routes`. */
export const routeViews = (
  routes: readonly CompiledRoute[],
  places: Blueprint['places'] = [],
): readonly RouteView[] =>
  routes.map(({ route, stages, targets }, index) => {
    let about: RouteDescription | undefined
    const place = places[index]
    return {
      name: route.name,
      method: route.method,
      path: route.pattern,
      stages: stages.map(({ name }) => name),
      options: Object.fromEntries(
        stages.map(({ name }): [string, Json] => [name, route.option(name) ?? null]),
      ),
      upstreams: targets.map(({ upstream }) => upstream),
      // Descriptions read schema files, and most readers of routes need none.
      get schema() {
        return this.about.body?.['application/json']
      },
      get about() {
        about ??= describe(stages.map(({ stage }) => stage))
        return about
      },
      ...(place && { place }),
    }
  })

const MAPS = ['body', 'members', 'responses', 'alternatives', 'headers', 'refusals'] as const
const LISTS = ['parameters', 'credentials', 'operations'] as const
/** Merges the descriptions of all stages: maps are merged, lists joined; of any other member the
 *  value of the last stage stays. */
const describe = (stages: readonly Stage[]): RouteDescription => {
  const parts = stages.flatMap(stage => stage.describe?.() ?? [])
  const about: { [name: string]: unknown } = Object.assign({}, ...parts)
  for (const name of MAPS)
    if (name in about) about[name] = Object.assign({}, ...parts.map(part => part[name]))
  for (const name of LISTS)
    if (name in about) about[name] = parts.flatMap(part => [...(part[name] ?? [])])
  return about
}
