/** Modes: groups of tasks that share one limit of how many the upstream has at once. A mode is
 *  named by the routes that create its tasks. */
import type { Document, HostBase, Report } from '../../../engine/plugin.ts'

export interface Mode {
  readonly name: string
  readonly dialect: string
  /** Tasks that the upstream may have at once; undefined: the gateway sets no limit. */
  readonly running: number | undefined
}
interface RouteEntry {
  readonly path: string
  readonly name?: string
  readonly task?: ModeOptions & { readonly dialect: string }
}
interface ModeOptions {
  readonly mode?: string | undefined
  readonly running?: number | undefined
}

/** Undefined: tasks of the route have no mode. */
export const modeNameOf = (route: string, { mode, running }: ModeOptions): string | undefined =>
  mode ?? (running === undefined ? undefined : route)

/** The modes of the configuration by name. */
export const modesOf = (
  host: Pick<HostBase, 'config' | 'section' | 'share'>,
): ReadonlyMap<string, Mode> =>
  host.share('task modes', host.config.hash, () => {
    const modes = new Map<string, Mode>()
    for (const { name, dialect, running } of modesIn(host.section('routes'))) {
      const limit = modes.get(name)?.running ?? running
      modes.set(name, { name, dialect, running: limit })
    }
    return modes
  })

/** Reports routes that give one mode different limits. */
export const checkModes = (document: Document, report: Report): void => {
  const limits = new Map<string, number>()
  for (const { index, name, running } of modesIn(document.routes)) {
    const limit = limits.get(name) ?? running
    if (limit === undefined) continue
    limits.set(name, limit)
    const where = ['routes', index, 'task', 'running']
    if (running !== undefined && running !== limit)
      report(
        where,
        'MODE_LIMIT',
        `another route limits the mode ${JSON.stringify(name)} to ${limit}`,
      )
  }
}

const modesIn = (routes: unknown): readonly (Mode & { readonly index: number })[] =>
  (Array.isArray(routes) ? (routes as readonly RouteEntry[]) : []).flatMap((route, index) => {
    const { task } = route
    const name = task && modeNameOf(route.name ?? route.path, task)
    return task && name !== undefined
      ? [{ index, name, dialect: task.dialect, running: task.running }]
      : []
  })
