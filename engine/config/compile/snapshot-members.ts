/** The members of a host that use the compiled snapshot, and those of a snapshot that use the
 *  host. */
import { sendDirect } from '../../egress/direct-send.ts'
import type {
  GatewayView,
  HostBase,
  Plugin,
  Route,
  RouteMatch,
  RouteView,
  UpstreamView,
} from '../../plugin.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import type { AdminParts, Endpoint } from '../admin-endpoints.ts'
import type { Blueprint } from './blueprint.ts'
import { pinsOf, pinTarget } from './pin.ts'
import { routeViews } from './route-view.ts'

interface SnapshotMembers extends Pick<HostBase, 'match' | 'pin' | 'pins' | 'send'> {
  /** Throws until the version is compiled. */
  routes(): readonly RouteView[]
}

/** `current` may throw until the snapshot is compiled. */
export const snapshotMembers = (
  current: () => Snapshot,
  places: Blueprint['places'],
): SnapshotMembers => ({
  routes: () => routeViews(current().routes, places),
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

/** The formats that plugins bring. */
export const formatsIn = (plugins: ReadonlyMap<string, Plugin>): HostBase['formats'] =>
  Object.assign({}, ...[...plugins.values()].map(({ formats }) => formats))

/** The parts of all plugins of a version, bound to its host. */
export const adminPartsOf = (
  pipeline: readonly string[],
  plugins: ReadonlyMap<string, Plugin>,
  hostBase: HostBase,
): AdminParts => ({
  endpoints: endpointsOf(plugins, hostBase),
  authorize: authorizeOf(pipeline, plugins, hostBase),
})

/** The admin endpoints of all plugins, by method and path. */
const endpointsOf = (
  plugins: ReadonlyMap<string, Plugin>,
  hostBase: HostBase,
): AdminParts['endpoints'] =>
  new Map(
    [...plugins].flatMap(([plugin, { admin = {} }]) =>
      Object.entries(admin).map(([name, handler]): [string, Endpoint] => [
        name,
        { plugin, answer: (request, gateway) => handler(request, withView(hostBase, gateway)) },
      ]),
    ),
  )

/** `authorizeOperator` of the first plugin that has it. */
const authorizeOf = (
  pipeline: readonly string[],
  plugins: ReadonlyMap<string, Plugin>,
  hostBase: HostBase,
): AdminParts['authorize'] => {
  const plugin = pipeline.map(name => plugins.get(name)).find(each => each?.authorizeOperator)
  const authorize = plugin?.authorizeOperator?.bind(plugin)
  return authorize && (async credential => authorize(credential, hostBase))
}

const withView = (hostBase: HostBase, view: GatewayView) => ({
  ...hostBase,
  // The routes of the host know their places.
  gateway: { ...view, ...hostBase.gateway },
})
