/** Compiles a document to a snapshot: upstreams, plugin tables, then every route. Reports all
 *  faults at once. */
import { resumeCall } from '../../egress/resumed-call.ts'
import { errors } from '../../errors.ts'
import type { Plugin } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { Snapshot } from '../../snapshot/snapshot.ts'
import { readSettings } from '../settings.ts'
import type { Blueprint } from './blueprint.ts'
import { CompileError, type CompileFault } from './compile-problem.ts'
import { createHostBase } from './host.ts'
import { compileListener, openEgress } from './listener.ts'
import { createMigrated, migrateTables } from './migrations.ts'
import { compileRoutes } from './routes.ts'
import { adminPartsOf, snapshotMembers, upstreamViews } from './snapshot-members.ts'
import { setKeyLimiters, setSigners } from './upstream-auth.ts'
import { compileUpstreams } from './upstreams.ts'

export { CompileError, type CompileFault, storeFault } from './compile-problem.ts'

const fault = errors({ NOT_READY: [503, 'The configuration is not compiled yet. Retry.'] })

/** Throws CompileError with all faults, the `known` ones first. On any error it releases the shared
 *  resources. */
export const compile = async (
  blueprint: Blueprint,
  plugins: ReadonlyMap<string, Plugin>,
  resources: Resources,
  known: readonly CompileFault[] = [],
): Promise<Snapshot> => {
  /** Release functions of the shared resources. */
  const releases: (() => void)[] = []
  const release = (): void => {
    for (const each of releases.splice(0)) each()
  }
  try {
    return await build(blueprint, plugins, resources, { releases, release, faults: [...known] })
  } catch (error) {
    release()
    throw error
  }
}

interface ResourceScope {
  readonly releases: (() => void)[]
  release(): void
  readonly faults: CompileFault[]
}

const build = async (
  blueprint: Blueprint,
  plugins: ReadonlyMap<string, Plugin>,
  resources: Resources,
  { releases, release, faults }: ResourceScope,
): Promise<Snapshot> => {
  const { document, version, hash } = blueprint
  const settings = readSettings(document.settings as Record<string, unknown>)
  const upstreams = compileUpstreams(document, plugins, resources, releases, faults)
  const egress = openEgress(settings.egress_allow, faults)
  const proxies = compileListener(settings, faults)
  let snapshot: Snapshot | undefined
  const current = (): Snapshot => {
    if (!snapshot) throw fault('NOT_READY')
    return snapshot
  }
  const hostBase = createHostBase(resources, {
    ...blueprint,
    pluginsByName: plugins,
    ...snapshotMembers(current, blueprint.places),
    releases,
    settings,
    upstreams: upstreamViews(upstreams),
    run: async (route, turn) => resumeCall(current(), resources, route, turn),
    checkUrl: egress.checkResolvedUrl,
  })
  setSigners(document, plugins, upstreams, hostBase, faults)
  setKeyLimiters({ document, plugins, upstreams, hostBase }, faults)
  const shareMigrated = () => {
    const { value, release } = resources.shared.acquire('migrated tables', '', createMigrated)
    releases.push(release)
    return value
  }
  await migrateTables(plugins, resources.database, faults, shareMigrated)
  const context = {
    pipeline: (document.pipeline ?? []) as readonly string[],
    plugins,
    hostBase,
    resources,
    settings,
    upstreams,
    faults,
  }
  const { routes, directRing } = await compileRoutes(document, context)
  if (faults.length > 0) throw new CompileError(faults)
  snapshot = new Snapshot({
    version,
    hash,
    settings,
    upstreams,
    egress,
    proxies,
    routes,
    directRing,
    release,
    admin: adminPartsOf(context.pipeline, plugins, hostBase),
  })
  return snapshot
}
