/** The routes of the admin listener. */
import { ENDPOINTS } from '../config/admin-endpoints.ts'
import type { AdminReply, AdminRoutes, ConfigView } from './admin-listener.ts'
import type { Exposition } from './metrics-exposition.ts'
import { createPluginEndpoints } from './plugin-endpoints.ts'
import type { Reloader, ReloadReport } from './reload.ts'
import type { WorkerPool } from './worker-pool.ts'

export interface AdminRoutesOptions {
  readonly pool: WorkerPool
  readonly reloader: Reloader
  readonly exposition: Exposition
  readonly url: string
  draining(): boolean
  /** Whether the writer process crashes repeatedly. */
  storeLost(): boolean
  /** Adds the primary's own metrics to the exposition. */
  report(): void
}

/** `names`: admin endpoints of plugins, listed by the index. */
const adminRoutes = (options: AdminRoutesOptions, names: () => readonly string[]) => {
  const { pool, reloader, exposition } = options
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
    'GET /-/config': () => ({ status: 200, body: configView(options) }),
    'GET /metrics': async () => {
      options.report()
      await pool.collect()
      return { status: 200, body: await exposition.text() }
    },
    'POST /-/reload': async () => reportReply(await reloader.reload()),
    'POST /-/rollback': async (query: URLSearchParams) => {
      const to = query.get('to')
      if (to !== null && !/^[1-9]\d*$/.test(to)) {
        return { status: 400, body: { error: `"to" must be the number of a version, not "${to}"` } }
      }
      return reportReply(await reloader.rollback(to === null ? 'previous' : Number(to)))
    },
  } satisfies Record<(typeof ENDPOINTS)[number], AdminRoutes[string]>
}
/** The routes of the engine and the endpoints of plugins, for `listenAdmin`. */
export const adminEndpoints = (options: AdminRoutesOptions) => {
  const { pool, reloader } = options
  const names = (): readonly string[] => reloader.serving.admin
  return {
    routes: adminRoutes(options, names),
    plugins: createPluginEndpoints(pool, names, () => configView(options)),
  }
}

/** Reasons why a load balancer should send no traffic here. */
const unreadyReasons = ({ pool, draining, storeLost }: AdminRoutesOptions): string[] => [
  ...(draining() ? ['draining'] : []),
  ...(pool.workers.some(({ state }) => state === 'serving') ? [] : ['no worker serves']),
  ...(pool.looping ? ['workers crash repeatedly'] : []),
  ...(storeLost() ? ['the writer process of the store crashes repeatedly'] : []),
]

const reportReply = (report: ReloadReport): AdminReply => ({
  status: report.outcome === 'problems' ? 422 : 200,
  body: report,
})

const configView = ({ pool, reloader, url }: AdminRoutesOptions): ConfigView => {
  const { version, hash, time } = reloader.serving
  const { failure } = reloader
  return {
    version,
    hash,
    time,
    url,
    workers: pool.workers.map(({ number, pid, state, version }) => ({
      number,
      pid,
      state,
      version,
    })),
    failure: failure ? { time: failure.time, problems: failure.problems ?? [] } : null,
  }
}
