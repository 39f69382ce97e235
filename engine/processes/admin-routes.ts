/** What the admin listener answers. */
import { ENDPOINTS } from '../config/admin-endpoints.ts'
import type { AdminReply, AdminRoutes, ConfigView } from './admin-listener.ts'
import type { Exposition } from './metrics-exposition.ts'
import { pluginEndpoints } from './plugin-endpoints.ts'
import type { Reloads, Report } from './reload.ts'
import type { Crew } from './worker-pool.ts'

export interface AnswersOptions {
  readonly crew: Crew
  readonly reloads: Reloads
  readonly exposition: Exposition
  readonly url: string
  draining(): boolean
  /** The writer ends again and again. */
  storeLost(): boolean
  /** Brings the primary's own numbers into the exposition. */
  report(): void
}

/** `names`: endpoints of plugins, for the index. */
const adminRoutes = (options: AnswersOptions, names: () => readonly string[]) => {
  const { crew, reloads, exposition } = options
  return {
    'GET /-/': () => ({ status: 200, body: { endpoints: [...ENDPOINTS, ...names()] } }),
    'GET /-/health': () => ({ status: 200, body: { status: 'ok', pid: process.pid } }),
    'GET /-/ready': () => {
      const reasons = unready(options)
      return {
        status: reasons.length > 0 ? 503 : 200,
        body: { ready: reasons.length === 0, reasons },
      }
    },
    'GET /-/config': () => ({ status: 200, body: view(options) }),
    'GET /metrics': async () => {
      options.report()
      await crew.collect()
      return { status: 200, body: await exposition.text() }
    },
    'POST /-/reload': async () => told(await reloads.reload()),
    'POST /-/rollback': async (query: URLSearchParams) => {
      const to = query.get('to')
      if (to !== null && !/^[1-9]\d*$/.test(to)) {
        return { status: 400, body: { error: `"to" must be the number of a version, not "${to}"` } }
      }
      return told(await reloads.rollback(to === null ? 'previous' : Number(to)))
    },
  } satisfies Record<(typeof ENDPOINTS)[number], AdminRoutes[string]>
}
/** Everything that the admin listener answers. */
export const adminEndpoints = (options: AnswersOptions) => {
  const { crew, reloads } = options
  const names = (): readonly string[] => reloads.serving.admin
  return {
    routes: adminRoutes(options, names),
    plugins: pluginEndpoints(crew, names, () => view(options)),
  }
}

/** Why no balancer should send anything here. */
const unready = ({ crew, draining, storeLost }: AnswersOptions): string[] => [
  ...(draining() ? ['draining'] : []),
  ...(crew.members.some(({ state }) => state === 'serving') ? [] : ['no worker serves']),
  ...(crew.looping ? ['workers crash again and again'] : []),
  ...(storeLost() ? ['the writer of the store ends again and again'] : []),
]

const told = (report: Report): AdminReply => ({
  status: report.outcome === 'problems' ? 422 : 200,
  body: report,
})

const view = ({ crew, reloads, url }: AnswersOptions): ConfigView => {
  const { version, hash, time } = reloads.serving
  const { failure } = reloads
  return {
    ...{ version, hash, time, url },
    workers: crew.members.map(({ number, pid, state, version }) => ({
      number,
      pid,
      state,
      version,
    })),
    failure: failure ? { time: failure.time, problems: failure.problems ?? [] } : null,
  }
}
