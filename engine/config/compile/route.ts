/** Compiles one entry of `routes:`: sets up its stages, composes the chain and reads its limits. */

import type { Exchange, HostBase, Json, Log, Plugin, Route, Stage, Target } from '../../plugin.ts'
import type { Call } from '../../request/exchange.ts'
import { compose, type Guard, type Run, type Step } from '../../request/pipeline.ts'
import { plainRefusal } from '../../response/refusal.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { CompiledRoute, NamedStage, Settings } from '../../snapshot/snapshot.ts'
import { sendAttempt, type UpstreamAttempt } from '../../upstream/attempt.ts'
import type { Balance } from '../../upstream/balance.ts'
import { DIRECT_ROUTE } from '../../upstream/direct-send.ts'
import { createDispatcher, type DispatchRules } from '../../upstream/dispatch.ts'
import type { Deadlines, Upstream } from '../../upstream/upstreams.ts'
import { createDialer } from '../../websocket/dial.ts'
import { type CompileFault, describe } from './compile-problem.ts'
import { createRouteHost } from './host.ts'
import { parseDuration, parseSize } from './units.ts'
import { readDeadlines, type UpstreamOptions } from './upstreams.ts'

/** A validated route; every other key holds the options of a plugin. */
export interface RouteOptions {
  readonly path: string
  readonly name?: string
  readonly upstream?:
    | string
    | readonly (string | { readonly to: string; readonly weight?: number })[]
  readonly balance?: Balance
  readonly retries?: number
  readonly timeout?: UpstreamOptions['timeout']
  readonly body?: {
    readonly limit?: string | number
    readonly encodings?: readonly string[]
    readonly inflated?: string | number
  }
  readonly hangup?: 'cancel' | { readonly drain: string; readonly bytes: string | number }
  readonly ping?: string
  readonly rewrite?: string
  readonly websocket?: { readonly payload?: string | number }
  readonly [plugin: string]: unknown
}

export interface RouteContext {
  readonly pipeline: readonly string[]
  readonly plugins: ReadonlyMap<string, Plugin>
  readonly lent: HostBase
  readonly resources: Resources
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly faults: CompileFault[]
  readonly spanId: () => string
}

export const compileRoute = async (
  options: RouteOptions,
  index: number,
  kit: RouteContext,
): Promise<CompiledRoute> => {
  const [method = '', pattern = ''] = options.path.split(/\s+/)
  const route: Route = {
    name: options.name ?? options.path,
    method,
    pattern,
    has: plugin => plugin in options || kit.plugins.get(plugin)?.default !== undefined,
    option: plugin =>
      ((options as unknown as Record<string, unknown>)[plugin] ??
        kit.plugins.get(plugin)?.default) as Json | undefined,
  }
  const before = kit.faults.length
  const stages = await setUpStages(options, route, index, kit)
  const targets = targetsOf(options)
  const hasResponder = stages.some(({ stage }) => stage.answers || stage.targets)
  // A stage whose setup failed may be the one that responds.
  if (targets.length === 0 && !hasResponder && kit.faults.length === before)
    kit.faults.push({
      where: ['routes', index],
      code: 'ROUTE_UNANSWERED',
      message: `the route "${options.path}" has no upstream; add one, or a plugin that responds or selects a target`,
    })
  return assembleRoute(options, route, stages, targets, kit)
}

/** The forward ring of calls without a route (`host.send`): the plugins that have a default. */
export const compileDirectRing = async (
  kit: RouteContext,
): Promise<CompiledRoute['forwardWith']> => {
  const optionOf = (plugin: string) => kit.plugins.get(plugin)?.default
  const route: Route = {
    ...DIRECT_ROUTE,
    has: plugin => optionOf(plugin) !== undefined,
    option: plugin => optionOf(plugin) as Json | undefined,
  }
  // What fails here fails on every route, and is reported there.
  const faults: CompileFault[] = []
  const stages = await setUpStages({ path: 'ANY /' }, route, 0, { ...kit, faults })
  const ring = forwardSteps(stages).map(each => each.step)
  return last => compose(ring, last)
}

const forwardSteps = (stages: readonly NamedStage[]) =>
  stages.flatMap(({ name, stage }) =>
    stage.forward
      ? [{ name, step: stage.forward.bind(stage) as unknown as Step<UpstreamAttempt> }]
      : [],
  )

const setUpStages = async (
  options: RouteOptions,
  route: Route,
  index: number,
  kit: RouteContext,
): Promise<readonly NamedStage[]> => {
  const stages: NamedStage[] = []
  const host = createRouteHost(kit.lent, route)
  for (const name of kit.pipeline) {
    const plugin = kit.plugins.get(name)
    const own = options[name] ?? plugin?.default
    if (!plugin || own === undefined) continue
    try {
      stages.push({ name, stage: await plugin.setup(own, host) })
    } catch (thrown) {
      const where = name in options ? ['routes', index, name] : ['routes', index]
      kit.faults.push({ where, plugin: name, ...describe(thrown, 'PLUGIN_SETUP') })
    }
  }
  return stages
}

const targetsOf = ({ upstream }: RouteOptions): readonly Target[] => {
  if (upstream === undefined) return []
  const list = typeof upstream === 'string' ? [upstream] : upstream
  return Object.freeze(
    list.map(each =>
      typeof each === 'string'
        ? { upstream: each }
        : { upstream: each.to, ...(each.weight !== undefined && { weight: each.weight }) },
    ),
  )
}

const assembleRoute = (
  options: RouteOptions,
  route: Route,
  stages: readonly NamedStage[],
  targets: readonly Target[],
  kit: RouteContext,
): CompiledRoute => {
  const handles = stages.flatMap(({ name, stage }) =>
    stage.handle ? [{ name, step: stage.handle.bind(stage) as unknown as Step<Call> }] : [],
  )
  const forwards = forwardSteps(stages)
  const ring = forwards.map(each => each.step)
  const deadlines = deadlinesOf(options.timeout)
  const payload = parseSize(options.websocket?.payload ?? '16MiB')
  const rules: DispatchRules = {
    upstreams: kit.upstreams,
    balance: options.balance ?? 'first',
    retries: options.retries ?? 0,
    deadlines,
    path: pathOf(options.rewrite),
    spanId: kit.spanId,
    send: route.method === 'WS' ? createDialer(payload) : sendAttempt,
    observe: (upstream, outcome) => kit.resources.metrics.attempt(upstream, outcome),
  }
  const dispatch = createDispatcher(rules, ring, {
    wait: ({ exchange }, stage, at) => exchange.stages.guard(stage, forwards[at]?.name),
    closed: ({ exchange }) => exchange.stages.stalled,
  })
  const steps = handles.map(each => each.step)
  const guard: Guard<Call> = {
    wait: (call, stage, at) => call.stages.guard(stage, handles[at]?.name),
    closed: call => call.stages.stalled,
  }
  const renderer = stages.find(({ stage }) => stage.fail)?.stage
  return {
    route,
    stages,
    run: compose(steps, dispatch, guard),
    runWith: last => compose(steps, last),
    runAfter: plugin => {
      const behind = kit.pipeline.indexOf(plugin) + 1
      const rest = handles.filter(({ name }) => kit.pipeline.indexOf(name) >= behind)
      return compose(
        rest.map(each => each.step),
        dispatch,
      )
    },
    forwardWith: (last: Run<UpstreamAttempt>) => compose(ring, last),
    fail: faultRenderer(renderer, kit.resources.log),
    body: {
      limit: parseSize(options.body?.limit ?? kit.settings.limits.body),
      encodings: options.body?.encodings ?? [],
      inflated: parseSize(
        options.body?.inflated ?? options.body?.limit ?? kit.settings.limits.body,
      ),
    },
    targets,
    rules,
    hangup: hangupOf(options.hangup),
    ping: options.ping ? parseDuration(options.ping) : 0,
    streams: asksForStream(stages),
    websocket: { payload },
  }
}

/** Decided by its `accept`, or by the first stage that can tell; false if neither can. */
const asksForStream = (stages: readonly NamedStage[]): CompiledRoute['streams'] => {
  const teller = stages.find(({ stage }) => stage.streams)?.stage
  return async request => {
    if (request.headers.accept?.includes('text/event-stream')) return true
    try {
      return (await teller?.streams?.(request)) ?? false
    } catch {
      return false
    }
  }
}

/** Renders a fault; if the renderer throws, the plain form is sent. */
const faultRenderer =
  (renderer: Stage | undefined, log: Log): CompiledRoute['fail'] =>
  (reason, exchange) => {
    try {
      return renderer?.fail?.(reason, exchange) ?? plainRefusal(reason, exchange)
    } catch (thrown) {
      log.error({ id: exchange.id, error: thrown }, 'a stage threw while it rendered a fault')
      return plainRefusal(reason, exchange)
    }
  }

const deadlinesOf = (timeouts: RouteOptions['timeout']) => {
  if (!timeouts) return (upstream: Upstream): Deadlines => upstream.deadlines
  const known = new Map<Upstream, Deadlines>()
  return (upstream: Upstream): Deadlines => {
    const found = known.get(upstream) ?? readDeadlines(timeouts, upstream.deadlines)
    known.set(upstream, found)
    return found
  }
}

const pathOf =
  (rewrite: string | undefined) =>
  ({ request, params, upstreamPath }: Call): string => {
    if (upstreamPath !== undefined) return upstreamPath
    // Parameters are decoded, so they are encoded for the path.
    const filled = rewrite?.replace(/\{(\w+)\}/g, (_, name) => encodeURI(params[name] ?? ''))
    const path = filled ?? request.path
    return request.search === ''
      ? path
      : `${path}${path.includes('?') ? '&' : '?'}${request.search}`
  }

const hangupOf = (option: RouteOptions['hangup']): Exchange['hangup'] =>
  option === undefined || option === 'cancel'
    ? 'cancel'
    : { ms: parseDuration(option.drain), bytes: parseSize(option.bytes) }
