/** Creates what the engine offers to plugins: the host of a route, and its base for commands, admin
 *  endpoints and the first start. */
import { mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sendDirect } from '../../egress/direct-send.ts'
import type { Document, Host, HostBase, Route, RouteMatch, UpstreamView } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import { readSecret } from '../../store/secrets.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { formatPath } from '../format-path.ts'
import { publicUrl, type Settings } from '../settings.ts'
import type { Blueprint } from './blueprint.ts'
import { pinsOf, pinTarget } from './pin.ts'

/** The part of a host that depends on the version of the configuration. */
export interface HostContext {
  readonly version: number
  readonly hash: string
  readonly root: string
  readonly document: Document
  readonly files?: Readonly<Record<string, string>> | undefined
  readonly upstreams: Readonly<Record<string, UpstreamView>>
  readonly settings: Pick<Settings, 'data' | 'listen' | 'public_url'>
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
  database: resources.database,
  config: { version: context.version, hash: context.hash },
  upstreams: context.upstreams,
  section: <T>(name: string) => (context.document[name] ?? {}) as T,
  file: path => {
    const full = resolve(context.root, path)
    // The text that was checked and hashed, so that every worker compiles the same.
    return context.files?.[formatPath(context.root, full)] ?? readFileSync(full, 'utf8')
  },
  share: shareOnce(resources.shared, context.releases),
  match: context.match,
  pin: context.pin,
  pins: context.pins,
  run: context.run,
  send: context.send,
  checkUrl: context.checkUrl,
  job: (name, every, run, options) => {
    const job = resources.jobs.start(name, every, run, options)
    context.releases.push(job.stop)
    return job
  },
  folder: name => {
    const folder = resolve(context.settings.data, name)
    mkdirSync(folder, { recursive: true })
    return folder
  },
  secret: name => readSecret(resources.database, name),
  url: path => publicUrl(context.settings, resources.localUrl) + path,
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

/** The members of a host that use the snapshot. `current` may throw until it is compiled. */
export const snapshotMembers = (
  current: () => Snapshot,
): Pick<HostContext, 'match' | 'pin' | 'pins' | 'send'> => ({
  pin: target => pinTarget(target, current().upstreams),
  pins: upstream => pinsOf(current().upstreams.get(upstream)),
  match: (method, target) => matchForPlugins(current(), method, target),
  send: async (upstream, request) => sendDirect(current(), upstream, request),
})

/** The route of a method and target, as plugins may know it. Throws PATH_REFUSED. */
const matchForPlugins = (snapshot: Snapshot, method: string, target: string): RouteMatch<Route> => {
  const { compiled, allowed, ...rest } = snapshot.match(method, target)
  const match = { ...rest, allowedMethods: allowed }
  return compiled ? { ...match, route: compiled.route } : match
}

/** The `upstreams:` section as plugins may know it, by name. */
export const upstreamViews = (
  upstreams: ReadonlyMap<string, Upstream>,
): Readonly<Record<string, UpstreamView>> =>
  Object.fromEntries([...upstreams].map(([name, { view }]) => [name, view]))

/** The host base of a command, or of the first start. `runRefusal`: the message of the error that
 *  `run` rejects with. */
export const createDetachedHost = (
  resources: Resources,
  { blueprint, snapshot }: { readonly blueprint: Blueprint; readonly snapshot: Snapshot },
  releases: (() => void)[],
  runRefusal: string,
): HostBase =>
  createHostBase(resources, {
    ...blueprint,
    ...snapshotMembers(() => snapshot),
    settings: snapshot.settings,
    upstreams: upstreamViews(snapshot.upstreams),
    run: () => Promise.reject(new Error(runRefusal)),
    checkUrl: snapshot.egress.checkResolvedUrl,
    releases,
  })
