/** Makes what plugins get from the engine: the host of a route, and its base for commands and the
 *  first start. */
import { mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Document, Host, HostBase, Route, RouteMatch, UpstreamView } from '../../plugin.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { Settings, Snapshot } from '../../snapshot/snapshot.ts'
import { readSecret } from '../../store/secrets.ts'
import { sendDirect } from '../../upstream/direct-send.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { formatPath } from '../shown-path.ts'
import type { Blueprint } from './blueprint.ts'
import { pinTarget } from './pin.ts'

/** What a version of the configuration adds to the resources of its process. */
export interface HostContext {
  readonly version: number
  readonly hash: string
  readonly root: string
  readonly document: Document
  readonly files?: Readonly<Record<string, string>> | undefined
  readonly upstreams: Readonly<Record<string, UpstreamView>>
  readonly settings: Pick<Settings, 'data' | 'public_url'>
  readonly match: HostBase['match']
  readonly pin: HostBase['pin']
  readonly run: HostBase['run']
  readonly send: HostBase['send']
  readonly judge: HostBase['checkUrl']
  /** Released when the snapshot retires. */
  readonly held: (() => void)[]
}

export const createHostBase = (resources: Resources, ground: HostContext): HostBase => ({
  log: resources.log,
  metrics: resources.metrics,
  database: resources.database,
  config: { version: ground.version, hash: ground.hash },
  upstreams: ground.upstreams,
  section: <T>(name: string) => (ground.document[name] ?? {}) as T,
  file: path => {
    const full = resolve(ground.root, path)
    // The text that was checked and hashed: every worker compiles the same.
    return ground.files?.[formatPath(ground.root, full)] ?? readFileSync(full, 'utf8')
  },
  share: (key, version, create) => {
    const { value, release } = resources.shared.acquire(key, version, create)
    ground.held.push(release)
    return value
  },
  match: ground.match,
  pin: ground.pin,
  run: ground.run,
  send: ground.send,
  checkUrl: ground.judge,
  job: (name, every, run, options) => {
    const job = resources.jobs.start(name, every, run, options)
    ground.held.push(job.stop)
    return job
  },
  folder: name => {
    const folder = resolve(ground.settings.data, name)
    mkdirSync(folder, { recursive: true })
    return folder
  },
  secret: name => readSecret(resources.database, name),
  url: path => ground.settings.public_url + path,
  membership: resources.membership,
  allowance: (name, supply) => resources.allowances.open(name, supply),
})

export const createRouteHost = (lent: HostBase, route: Route): Host => ({ ...lent, route })

/** The route of a method and target, as plugins may know it. Throws PATH_REFUSED. */
export const matchForPlugins = (
  snapshot: Snapshot,
  method: string,
  target: string,
): RouteMatch<Route> => {
  const { compiled, ...rest } = snapshot.match(method, target)
  return compiled ? { ...rest, route: compiled.route } : rest
}

/** The `upstreams:` section as plugins may know it, by name. */
export const upstreamViews = (
  upstreams: ReadonlyMap<string, Upstream>,
): Readonly<Record<string, UpstreamView>> =>
  Object.fromEntries([...upstreams].map(([name, { view }]) => [name, view]))

/** The host base of a command, or of the first start. `runs`: the message of the error that `run`
 *  rejects with. */
export const createDetachedHost = (
  resources: Resources,
  { blueprint, snapshot }: { readonly blueprint: Blueprint; readonly snapshot: Snapshot },
  held: (() => void)[],
  runs: string,
): HostBase =>
  createHostBase(resources, {
    ...blueprint,
    settings: snapshot.settings,
    upstreams: upstreamViews(snapshot.upstreams),
    pin: target => pinTarget(target, snapshot.upstreams),
    match: (method, target) => matchForPlugins(snapshot, method, target),
    run: () => Promise.reject(new Error(runs)),
    send: async (upstream, request) => sendDirect(snapshot, upstream, request),
    judge: snapshot.egress.checkResolvedUrl,
    held,
  })
