/** Compiles a document to a snapshot: upstreams, plugin tables, then every route. Reports all
 *  faults at once. */

import { errors } from '../../errors.ts'
import type { Document, HostBase, Plugin } from '../../plugin.ts'
import { createIds } from '../../request/ids.ts'
import { resumeCall } from '../../request/resumed-call.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { type CompiledRoute, type Endpoint, Snapshot } from '../../snapshot/snapshot.ts'
import { MEMBERSHIP_TABLES } from '../../store/membership.ts'
import { SECRETS_TABLE } from '../../store/secrets.ts'
import { sendDirect } from '../../upstream/direct-send.ts'
import { createEgress, type Egress } from '../../upstream/egress.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { readSettings } from '../settings.ts'
import type { Blueprint } from './blueprint.ts'
import { CompileError, type CompileFault, describe } from './compile-problem.ts'
import { createHostBase, matchForPlugins, upstreamViews } from './host.ts'
import { pinTarget } from './pin.ts'
import { compileDirectRing, compileRoute, type RouteContext, type RouteOptions } from './route.ts'
import { type AcquireShared, compileUpstream, type UpstreamOptions } from './upstreams.ts'

export { CompileError, type CompileFault } from './compile-problem.ts'

const fault = errors({ NOT_READY: [503, 'The configuration is not compiled yet. Retry.'] })

/** Throws CompileError with all faults. On any error it releases the shared resources. */
export const compile = async (
  blueprint: Blueprint,
  plugins: ReadonlyMap<string, Plugin>,
  resources: Resources,
): Promise<Snapshot> => {
  const held: (() => void)[] = []
  const release = (): void => {
    for (const each of held.splice(0)) each()
  }
  try {
    return await build(blueprint, plugins, resources, { held, release })
  } catch (thrown) {
    release()
    throw thrown
  }
}

interface ResourceScope {
  /** Release functions of the acquired shared resources. */
  readonly held: (() => void)[]
  release(): void
}

const build = async (
  { document, version, hash, root, files }: Blueprint,
  plugins: ReadonlyMap<string, Plugin>,
  resources: Resources,
  { held, release }: ResourceScope,
): Promise<Snapshot> => {
  const faults: CompileFault[] = []
  const settings = readSettings(document.settings as Record<string, unknown>)
  const upstreams = openUpstreams(document, plugins, resources, held, faults)
  const egress = openEgress(settings.egress_allow, faults)
  let snapshot: Snapshot | undefined
  const current = (): Snapshot => {
    if (!snapshot) throw fault('NOT_READY')
    return snapshot
  }
  const host = createHostBase(resources, {
    version,
    hash,
    root,
    document,
    files,
    held,
    upstreams: upstreamViews(upstreams),
    settings,
    pin: target => pinTarget(target, upstreams),
    match: (method, target) => matchForPlugins(current(), method, target),
    run: async (route, turn) => resumeCall(current(), resources, route, turn),
    send: async (upstream, request) => sendDirect(current(), upstream, request),
    judge: egress.checkResolvedUrl,
  })
  const ids = createIds()
  const kit: RouteContext = {
    pipeline: (document.pipeline ?? []) as readonly string[],
    plugins,
    lent: host,
    resources,
    settings,
    upstreams,
    faults,
    spanId: () => ids(8),
  }
  await migrate(kit)
  const routes: CompiledRoute[] = []
  for (const [index, options] of ((document.routes ?? []) as unknown as RouteOptions[]).entries())
    routes.push(await compileRoute(options, index, kit))
  if (faults.length > 0) throw new CompileError(faults)
  const parts = { version, hash, settings, upstreams, egress, routes, release }
  const forwardDirect = await compileDirectRing(kit)
  snapshot = new Snapshot({ ...parts, forwardDirect, admin: endpointsOf(plugins, host) })
  return snapshot
}

/** The admin endpoints of all plugins, by method and path. */
const endpointsOf = (plugins: ReadonlyMap<string, Plugin>, lent: HostBase): Snapshot['admin'] =>
  new Map(
    [...plugins].flatMap(([plugin, { admin = {} }]) =>
      Object.entries(admin).map(([name, handler]): [string, Endpoint] => [
        name,
        { plugin, answer: (request, gateway) => handler(request, { ...lent, gateway }) },
      ]),
    ),
  )

const openUpstreams = (
  document: Document,
  plugins: ReadonlyMap<string, Plugin>,
  { shared }: Resources,
  held: (() => void)[],
  faults: CompileFault[],
): ReadonlyMap<string, Upstream> => {
  const section = (document.upstreams ?? {}) as unknown as Record<string, UpstreamOptions>
  const credentials = [...plugins.values()].flatMap(plugin => plugin.credentialHeaders ?? [])
  const upstreams = new Map<string, Upstream>()
  const share: AcquireShared = (key, version, create) => {
    const { value, release } = shared.acquire(key, version, create)
    held.push(release)
    return value
  }
  for (const [name, options] of Object.entries(section))
    try {
      upstreams.set(name, compileUpstream(name, options, share, credentials))
    } catch {
      faults.push({
        where: ['upstreams', name, 'url'],
        code: 'UPSTREAM_ADDRESS',
        message: `the address of the upstream "${name}" is invalid; check its port (at most 65535) and brackets`,
      })
    }
  return upstreams
}

const openEgress = (allow: string, faults: CompileFault[]): Egress => {
  try {
    return createEgress(allow)
  } catch (thrown) {
    faults.push({ where: ['settings', 'egress_allow'], ...describe(thrown, 'EGRESS_ALLOW') })
    return createEgress('')
  }
}

/** Migrates the tables of all plugins before any `setup` runs; those of `needs` come first. */
const migrate = async ({ plugins, resources, faults }: RouteContext): Promise<void> => {
  const { database } = resources as {
    database: { migrate?(owner: string, list: unknown): unknown }
  }
  const visited = new Set<string>()
  let prepared = false
  const visit = async (name: string, by: string): Promise<void> => {
    if (visited.has(name)) return
    visited.add(name)
    const plugin = plugins.get(name)
    if (!plugin) {
      const message = `it needs the tables of the plugin "${name}", which is not installed`
      faults.push({ plugin: by, code: 'MIGRATION_FAILED', message })
    }
    for (const needed of plugin?.needs ?? []) await visit(needed, name)
    if (!plugin?.migrations || !database.migrate) return
    try {
      // The tables of the engine, which plugin tables may reference.
      if (!prepared) {
        await database.migrate('standing', MEMBERSHIP_TABLES)
        await database.migrate('secrets', SECRETS_TABLE)
      }
      prepared = true
      await database.migrate(name, plugin.migrations)
    } catch (thrown) {
      const { code } = describe(thrown, 'MIGRATION_FAILED')
      if (STORE_CODES.has(code)) throw new CompileError([storeFault(code, thrown)])
      faults.push({ plugin: name, ...describe(thrown, 'MIGRATION_FAILED') })
    }
  }
  for (const name of plugins.keys()) await visit(name, name)
}

/** Faults of the store itself: a retry for each plugin would take as long each time. */
const STORE_CODES: ReadonlySet<string> = new Set([
  ...['STORE_START', 'STORE_UNAVAILABLE', 'STORE_URL', 'STORE_FOLDER', 'STORE_NEWER'],
  ...['STORE_POSTGRES_OLD', 'STORE_SQLITE_OLD', 'STORE_FSYNC', 'STORE_READ_ONLY', 'STORE_PRAGMA'],
])
const storeFault = (code: string, thrown: unknown): CompileFault => ({
  where: ['settings', 'database'],
  code,
  message: `${(thrown as Error).message}; check settings.database, or DATABASE_URL if it is not set`,
})
