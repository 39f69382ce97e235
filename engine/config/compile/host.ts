/** Creates what the engine offers to plugins: the host of a route, and its base for commands, admin
 *  endpoints and the first start. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { serveInside } from '../../egress/inside-request.ts'
import { OPERATOR_ACCESS } from '../../egress/operator-request.ts'
import type {
  Document,
  Host,
  HostBase,
  Plugin,
  Route,
  RouteView,
  UpstreamView,
} from '../../plugin.ts'
import { requestLogOf } from '../../request-log/reader.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import { makeFolder } from '../../store/make-folder.ts'
import { readSecret } from '../../store/secrets.ts'
import { formatPath } from '../format-path.ts'
import { locate } from '../plugins/program.ts'
import { isLocal, publicUrl, type Settings } from '../settings.ts'
import type { Blueprint } from './blueprint.ts'
import { gatewayOf } from './gateway.ts'
import { createMemo } from './memo.ts'
import { formatsIn, snapshotMembers, upstreamViews } from './snapshot-members.ts'

/** The part of a host that depends on the version of the configuration. */
export interface HostContext {
  readonly version: number
  readonly hash: string
  readonly root: string
  readonly document: Document
  readonly pluginsByName: ReadonlyMap<string, Plugin>
  readonly cacheFolder?: string | undefined
  readonly files?: Readonly<Record<string, string>> | undefined
  readonly upstreams: Readonly<Record<string, UpstreamView>>
  readonly settings: Pick<Settings, 'data' | 'listen' | 'public_url'>
  /** Throws until the version is compiled. */
  routes(): readonly RouteView[]
  readonly match: HostBase['match']
  readonly pin: HostBase['pin']
  readonly pins: HostBase['pins']
  readonly run: HostBase['run']
  readonly send: HostBase['send']
  readonly checkUrl: HostBase['checkUrl']
  /** Release functions, called when the snapshot retires. */
  readonly releases: (() => void)[]
}

export const createHostBase = (resources: Resources, context: HostContext): HostBase => ({
  log: resources.log,
  metrics: resources.metrics,
  gateway: gatewayOf(resources.gateway, context.routes),
  requests: requestLogOf(context.settings.data),
  database: resources.database,
  config: {
    version: context.version,
    hash: context.hash,
    isTrial: resources.role !== 'worker',
  },
  upstreams: context.upstreams,
  section: <T>(name: string) => (context.document[name] ?? {}) as T,
  formats: formatsIn(context.pluginsByName),
  file: path => {
    const full = locate(context.root, path)
    // The text that was checked and hashed, so that every worker compiles the same.
    return context.files?.[formatPath(context.root, full)] ?? readFileSync(full, 'utf8')
  },
  share: shareOnce(resources.shared, context.releases),
  match: context.match,
  pin: context.pin,
  pins: context.pins,
  run: context.run,
  serve: request => serveInside(resources, request),
  send: context.send,
  checkUrl: context.checkUrl,
  ...OPERATOR_ACCESS,
  job: (name, every, run, options) => {
    const job = resources.jobs.start(name, every, run, options)
    context.releases.push(job.stop)
    return job
  },
  memo: createMemo(context.cacheFolder),
  folder: name => {
    const folder = resolve(context.settings.data, name)
    makeFolder(folder)
    return folder
  },
  secret: name => readSecret(resources.database, name),
  url: path => publicUrl(context.settings, resources.localUrl) + path,
  isLocal: () => isLocal(context.settings),
  membership: resources.membership,
  allowance: (name, supply) => resources.allowances.open(name, supply),
})

/** One host acquires a value once, however often its plugins share it: some do at each request. */
const shareOnce = (
  shared: Resources['shared'],
  releases: HostContext['releases'],
): HostBase['share'] => {
  const acquired = new Map<string, { readonly version: string; readonly value: object }>()
  return <T extends object>(
    key: string,
    version: string,
    create: (previous: T | undefined) => T,
  ): T => {
    const known = acquired.get(key)
    if (known?.version === version) return known.value as T
    const { value, release } = shared.acquire(key, version, create)
    releases.push(release)
    acquired.set(key, { version, value })
    return value
  }
}

export const createRouteHost = (hostBase: HostBase, route: Route): Host => ({
  ...hostBase,
  route,
})

interface LoadedConfig {
  readonly blueprint: Blueprint
  readonly snapshot: Snapshot
  readonly plugins: ReadonlyMap<string, Plugin>
}
/** The host base of a command, or of the first start. `runRefusal`: the message of the error that
 *  `run` rejects with. */
export const createDetachedHost = (
  resources: Resources,
  { blueprint, snapshot, plugins }: LoadedConfig,
  releases: (() => void)[],
  runRefusal: string,
): HostBase =>
  createHostBase(resources, {
    ...blueprint,
    pluginsByName: plugins,
    ...snapshotMembers(() => snapshot, blueprint.places),
    settings: snapshot.settings,
    upstreams: upstreamViews(snapshot.upstreams),
    run: () => Promise.reject(new Error(runRefusal)),
    checkUrl: snapshot.egress.checkResolvedUrl,
    releases,
  })
