/** The routes of the admin listener. */
import { ENDPOINTS, type EngineEndpoint } from '../config/admin-endpoints.ts'
import type { LiveView, Log, Operator, ReloadCaller, ReloadReport } from '../plugin.ts'
import type { AdminReply, AdminRoutes } from './admin-listener.ts'
import type { Exposition } from './metrics-exposition.ts'
import { createAuthorize, createPluginEndpoints, createWorkerCalls } from './plugin-endpoints.ts'
import type { Reloader } from './reload.ts'
import type { WorkerPool } from './worker-pool.ts'

export interface AdminRoutesOptions {
  readonly pool: WorkerPool
  readonly reloader: Reloader
  readonly exposition: Exposition
  readonly log: Log
  readonly url: string
  draining(): boolean
  /** The writer of an embedded store: whether it crashes repeatedly, and ms since it answered. */
  readonly writer: { readonly looping: boolean; readonly silence: number }
  /** The defect of the data folder; undefined: none. */
  dataFault(): string | undefined
  /** Adds the primary's own metrics to the exposition. */
  report(): void
}

/** `names`: admin endpoints of plugins, listed by the index. */
const adminRoutes = (options: AdminRoutesOptions, names: () => readonly string[]) => {
  const { pool, reloader, exposition, log } = options
  const logCaller = (change: string, operator: Operator | undefined): void =>
    log.info(
      { change, actor: operator?.name ?? 'socket' },
      'a change of the configuration is asked for',
    )
  return {
    'GET /-/': () => ({ status: 200, body: { endpoints: [...ENDPOINTS, ...names()] } }),
    'GET /-/health': () => ({ status: 200, body: { status: 'ok', pid: process.pid } }),
    'GET /-/ready': () => {
      const reasons = unreadyReasons(options)
      return {
        status: reasons.length > 0 ? 503 : 200,
        body: { ready: reasons.length === 0, reasons },
      }
    },
    'GET /-/config': () => {
      const { routes, upstreams } = reloader.serving
      return { status: 200, body: { ...configView(options), routes, upstreams } }
    },
    'GET /metrics': async () => {
      options.report()
      await pool.collect()
      return { status: 200, body: await exposition.text(reloader.serving.metrics) }
    },
    'POST /-/reload': async (query: URLSearchParams, operator?: Operator) => {
      logCaller('reload', operator)
      return reportReply(await reloader.reload(callerOf(query, operator)))
    },
    'POST /-/rollback': async (query: URLSearchParams, operator?: Operator) => {
      logCaller('rollback', operator)
      const to = query.get('to')
      if (to !== null && !/^[1-9]\d{0,14}$/.test(to)) {
        return { status: 400, body: { error: `"to" must be the number of a version, not "${to}"` } }
      }
      return reportReply(
        await reloader.rollback(to === null ? 'previous' : Number(to), callerOf(query, operator)),
      )
    },
  } satisfies Record<EngineEndpoint, AdminRoutes[string]>
}
/** Commands use the socket, which only the user of the gateway may open, and name their user. */
const callerOf = (query: URLSearchParams, operator: Operator | undefined): ReloadCaller => {
  const name = operator?.name ?? query.get('user') ?? ''
  return { via: operator ? 'admin listener' : 'command line', name: name.slice(0, MAX_NAME) }
}
const MAX_NAME = 100
/** The routes of the engine and the endpoints of plugins, for `listenAdmin`. */
export const adminEndpoints = (options: AdminRoutesOptions) => {
  const { pool, reloader } = options
  const names = (): readonly string[] => reloader.serving.admin
  const calls = createWorkerCalls(pool)
  return {
    routes: adminRoutes(options, names),
    plugins: createPluginEndpoints(calls, names, () => configView(options)),
    authorize: createAuthorize(calls),
  }
}

/** ms without an answer of the store after which billed calls count as refused. */
const STORE_PATIENCE = 3_000

/** Reasons why a load balancer should send no traffic here. */
const unreadyReasons = ({
  pool,
  draining,
  writer,
  dataFault,
}: Pick<AdminRoutesOptions, 'pool' | 'draining' | 'writer' | 'dataFault'>): string[] => {
  const serving = pool.workers.filter(({ state }) => state === 'serving')
  const silence = Math.max(writer.silence, ...serving.map(({ storeSilence }) => storeSilence))
  const seconds = Math.floor(silence / 1_000)
  return [
    ...(draining() ? ['draining'] : []),
    ...(serving.length > 0 ? [] : ['no worker serves']),
    ...(pool.looping ? ['workers crash repeatedly'] : []),
    ...(writer.looping ? ['the writer process of the store crashes repeatedly'] : []),
    ...(silence > STORE_PATIENCE
      ? [
          `the store has not answered for ${seconds} s: calls that need a key or a price are refused`,
        ]
      : []),
    ...[dataFault() ?? []].flat(),
  ]
}

const reportReply = (report: ReloadReport): AdminReply => ({
  status: report.outcome === 'problems' ? 422 : 200,
  body: report,
})

export const configView = (options: AdminRoutesOptions): LiveView => {
  const { pool, reloader, url } = options
  const { version, hash, time } = reloader.serving
  const { failure } = reloader
  return {
    version,
    hash,
    time,
    url,
    unready: unreadyReasons(options),
    workers: pool.workers.map(({ number, pid, state, version }) => ({
      number,
      pid,
      state,
      version,
    })),
    failure: failure
      ? { time: failure.time, problems: failure.problems ?? [], text: failure.text }
      : null,
  }
}
