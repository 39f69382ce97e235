/** Compiles one entry of `routes:`: sets up its stages and composes them with the dispatcher. */
import type { HostBase, Json, Log, Plugin, Route, Stage } from '../../plugin.ts'
import type { Call } from '../../request/exchange.ts'
import { compose, type Guard, type Handler, type Run } from '../../request/pipeline.ts'
import { plainRefusal } from '../../response/refusal.ts'
import type { Resources } from '../../snapshot/resources.ts'
import type { CompiledRoute, NamedStage } from '../../snapshot/snapshot.ts'
import type { UpstreamAttempt } from '../../upstream/attempt.ts'
import { createDispatcher } from '../../upstream/dispatch.ts'
import type { Upstream } from '../../upstream/upstreams.ts'
import { ROUTE } from '../sections/route.ts'
import type { Settings } from '../settings.ts'
import { type CompileFault, describeError, describeStage } from './compile-problem.ts'
import { dispatchRules, insideDeadline } from './dispatch-rules.ts'
import { createRouteHost } from './host.ts'
import {
  bodyRules,
  pingOf,
  type RouteOptions,
  type RouteValues,
  targetsOf,
} from './route-options.ts'

export interface RouteContext {
  readonly pipeline: readonly string[]
  readonly plugins: ReadonlyMap<string, Plugin>
  readonly hostBase: HostBase
  readonly resources: Resources
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly faults: CompileFault[]
  readonly spanId: () => string
}

/** `index`: position of the route in `routes:`, for the places of faults. */
export const compileRoute = async (
  options: RouteOptions,
  index: number,
  context: RouteContext,
): Promise<CompiledRoute> => {
  const { plugins, faults } = context
  const own = ROUTE.read(options)
  const [method = '', pattern = ''] = own.path.split(/\s+/)
  const optionsOf = (plugin: string) => options[plugin] ?? plugins.get(plugin)?.default
  const route: Route = {
    name: own.name ?? own.path,
    method,
    pattern,
    has: plugin => plugin in options || plugins.get(plugin)?.default !== undefined,
    option: plugin => optionsOf(plugin) as Json | undefined,
  }
  const stages = await setUpStages(options, route, index, context)
  const hasResponder = stages.some(({ stage }) => stage.answers || stage.targets)
  // A stage whose setup failed may be the one that responds.
  const hasFailed = faults.some(({ plugin }) => plugin !== undefined && route.has(plugin))
  if (own.upstream.length === 0 && !hasResponder && !hasFailed)
    faults.push({
      where: ['routes', index],
      code: 'ROUTE_UNANSWERED',
      message: `the route "${own.path}" has no upstream; add one, or a plugin that responds or selects a target`,
    })
  return assembleRoute(own, route, stages, context)
}

export const setUpStages = async (
  options: RouteOptions,
  route: Route,
  index: number,
  context: RouteContext,
): Promise<readonly NamedStage[]> => {
  const stages: NamedStage[] = []
  const host = createRouteHost(context.hostBase, route)
  for (const name of context.pipeline) {
    const plugin = context.plugins.get(name)
    const pluginOptions = options[name] ?? plugin?.default
    if (!plugin || pluginOptions === undefined) continue
    const where = name in options ? ['routes', index, name] : ['routes', index]
    const report = (fault: Omit<CompileFault, 'where' | 'plugin'>): void => {
      // A fault of the plugin itself is the same on every route.
      const isKnown =
        fault.code.startsWith('PLUGIN_') &&
        context.faults.some(
          ({ plugin, code, message }) =>
            plugin === name && code === fault.code && message === fault.message,
        )
      if (!isKnown) context.faults.push({ where, plugin: name, ...fault })
    }
    try {
      const stage = await plugin.setup(pluginOptions, host)
      const fault = describeStage(name, stage)
      if (fault) report(fault)
      else stages.push({ name, stage })
    } catch (error) {
      report(describeError(error, 'PLUGIN_SETUP'))
    }
  }
  return stages
}

const assembleRoute = (
  options: RouteValues,
  route: Route,
  stages: readonly NamedStage[],
  context: RouteContext,
): CompiledRoute => {
  const { pipeline, resources, settings } = context
  const handles = namedHandlers<Call>(stages, 'handle')
  const forwards = forwardHandlers(stages)
  const { payload } = options.websocket
  const rules = dispatchRules(options, route.method === 'WS' ? payload : undefined, context)
  const deadline = insideDeadline(rules)
  const ring = deadline ? [{ name: 'timeout', run: deadline }, ...forwards] : forwards
  const dispatch = createDispatcher(rules, handlersOf(ring), {
    wait: ({ exchange }, stage, index) => exchange.stages.guard(stage, ring[index]?.name),
    closeReason: ({ exchange }) => exchange.stages.stallReason,
  })
  const guard: Guard<Call> = {
    wait: (call, stage, index) => call.stages.guard(stage, handles[index]?.name),
    closeReason: call => call.stages.stallReason,
  }
  const renderer = stages.find(({ stage }) => stage.fail)?.stage
  return {
    route,
    stages,
    run: compose(handlersOf(handles), dispatch, guard),
    runWith: last => compose(handlersOf(handles), last),
    runAfter: plugin => {
      const start = pipeline.indexOf(plugin) + 1
      const later = handles.filter(({ name }) => pipeline.indexOf(name) >= start)
      return compose(handlersOf(later), dispatch)
    },
    forwardWith: (last: Run<UpstreamAttempt>) => compose(handlersOf(forwards), last),
    fail: createFaultRenderer(renderer, resources.log),
    headers: createHeaderRule(stages, resources.log),
    preflight: preflightOf(stages),
    body: bodyRules(options, settings.limits.body),
    targets: targetsOf(options),
    rules,
    hangup: options.hangup,
    ping: pingOf(options, stages),
    streams: createStreamTest(stages),
    websocket: { payload },
  }
}

/** `handle` or `forward` of one stage, with the name of its plugin. */
interface NamedHandler<Subject> {
  readonly name: string
  readonly run: Handler<Subject>
}
const namedHandlers = <Subject>(
  stages: readonly NamedStage[],
  ring: 'handle' | 'forward',
): readonly NamedHandler<Subject>[] =>
  stages.flatMap(({ name, stage }) => {
    const run = stage[ring]?.bind(stage) as unknown as Handler<Subject> | undefined
    return run ? [{ name, run }] : []
  })
/** Every `forward`, then one step that sets the stages that sign, if there are any. */
export const forwardHandlers = (
  stages: readonly NamedStage[],
): readonly NamedHandler<UpstreamAttempt>[] => {
  const forwards = namedHandlers<UpstreamAttempt>(stages, 'forward')
  const signers = stages.flatMap(({ name, stage }) =>
    stage.sign ? [{ name, sign: stage.sign.bind(stage) }] : [],
  )
  if (signers.length === 0) return forwards
  const run: Handler<UpstreamAttempt> = (attempt, next) => {
    attempt.signers = signers
    return next()
  }
  return [...forwards, { name: 'sign', run }]
}
export const handlersOf = <Subject>(
  named: readonly NamedHandler<Subject>[],
): readonly Handler<Subject>[] => named.map(({ run }) => run)

/** Whether a request asks for a stream: by its `accept` header, or else by the first stage that can
 *  tell. */
const createStreamTest = (stages: readonly NamedStage[]): CompiledRoute['streams'] => {
  const decider = stages.find(({ stage }) => stage.streams)?.stage
  return async request => {
    if (request.headers.accept?.includes('text/event-stream')) return true
    try {
      return (await decider?.streams?.(request)) ?? false
    } catch {
      return false
    }
  }
}

/** Runs each stage's `headers`; if one throws, the headers are sent without it. */
const createHeaderRule = (stages: readonly NamedStage[], log: Log): CompiledRoute['headers'] => {
  const rules = stages.filter(({ stage }) => stage.headers)
  if (rules.length === 0) return undefined
  return (headers, { id, request }) =>
    rules.reduce((sofar, { name, stage }) => {
      try {
        return stage.headers?.(sofar, request) ?? sofar
      } catch (error) {
        log.error({ id, plugin: name, error }, 'a stage threw while it set headers')
        return sofar
      }
    }, headers)
}
const preflightOf = (stages: readonly NamedStage[]): CompiledRoute['preflight'] => {
  const stage = stages.find(each => each.stage.preflight)?.stage
  return stage?.preflight?.bind(stage)
}

/** Renders a fault; if the renderer throws, the plain form is sent. */
const createFaultRenderer =
  (renderer: Stage | undefined, log: Log): CompiledRoute['fail'] =>
  (reason, exchange) => {
    try {
      return renderer?.fail?.(reason, exchange) ?? plainRefusal(reason, exchange)
    } catch (error) {
      log.error({ id: exchange.id, error }, 'a stage threw while it rendered a fault')
      return plainRefusal(reason, exchange)
    }
  }
