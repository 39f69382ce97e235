/** From a change to a version that serves, or to a report of why not. One build at a time; changes meanwhile make one more. */
import type { Problem } from '../config/problem.ts'
import type { ProcessLog } from '../log.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Settings } from '../snapshot.ts'
import type { Crew } from './crew.ts'
import type { Build, Built } from './messages.ts'
import type { Workshop } from './workshop.ts'

export interface Report {
  readonly outcome: 'live' | 'unchanged' | 'problems'
  /** The version that serves now. */
  readonly version: number
  /** As a person reads it. */
  readonly text: string
  readonly problems?: readonly Problem[]
  readonly time: string
}
export interface Reloads {
  readonly serving: Built & { readonly time: string }
  /** The last attempt's, while it has not been repaired. */
  readonly failure: Report | undefined
  /** Brings the files live, where they differ from what serves. */
  reload(): Promise<Report>
  /** The same for a change that was noticed, not asked for: what was rolled back does not come back by itself. */
  changed(): Promise<Report>
  /** Puts an earlier version live: the one named, or the one before the serving. */
  rollback(to: number | 'previous'): Promise<Report>
}
export interface ReloadOptions {
  readonly first: Built
  readonly workshop: Workshop
  readonly crew: Crew
  readonly log: ProcessLog
  readonly metrics: GatewayMetrics
  say(text: string): void
  watch(folders: readonly string[]): void
}

export const createReloads = (options: ReloadOptions): Reloads => {
  const { metrics } = options
  let serving = { ...options.first, time: new Date().toISOString() }
  let failure: Report | undefined
  /** What the files held when they were last live. */
  let filed = serving.hash
  let last: Promise<unknown> = Promise.resolve()
  let waiting: Promise<Report> | undefined

  const enqueue = (request: () => Omit<Build, 'type'>): Promise<Report> => {
    const report = last.then(() => {
      waiting = undefined
      return run(request())
    })
    last = report.catch(() => {})
    return report
  }
  const run = async (request: Omit<Build, 'type'>): Promise<Report> => {
    const started = performance.now()
    const before = serving
    const outcome = await attempt(options, request)
    if (outcome.watched.length > 0) options.watch(outcome.watched)
    if (outcome.type === 'built') {
      serving = { ...outcome, time: new Date().toISOString() }
      if (request.rollback === undefined) filed = outcome.hash
    }
    const ms = Math.round(performance.now() - started)
    const report = describe(outcome, serving.version, ms, options.first)
    if (outcome.type === 'built') settle(options, before.settings, outcome.settings)
    // A watch that looks twice is no news; a repaired fault is.
    if (report.outcome !== 'unchanged' || failure) options.say(report.text)
    failure = report.outcome === 'problems' ? report : undefined
    tell(options, report)
    return report
  }
  metrics.gauge('config_version', {}, serving.version)
  metrics.gauge('config_reload_ok', {}, 1)
  return {
    get serving() {
      return serving
    },
    get failure() {
      return failure
    },
    reload: () => enqueue(() => ({})),
    changed() {
      waiting ??= enqueue(() => ({ unless: filed }))
      return waiting
    },
    rollback: to => enqueue(() => ({ rollback: to })),
  }
}

/** Builds, then lets every worker prepare, then all swap. */
const attempt = async ({ workshop, crew, log }: ReloadOptions, request: Omit<Build, 'type'>) => {
  const built = await workshop.build(request)
  if (built.type !== 'built') return built
  log.hide(built.secrets)
  const refused = await crew.publish(built)
  if (refused === undefined) {
    workshop.live(built)
    return built
  }
  const { watched } = built
  if (refused !== 'died') return { ...refused, type: 'problems' as const, watched }
  const message = 'a worker ended, twice, while it prepared this version; the log may say why'
  const problems = [{ code: 'WORKER_ENDS', message, file: 'routes.yaml', line: 1, column: 1 }]
  return { type: 'problems' as const, problems, text: `WORKER_ENDS  ${message}`, watched }
}
type Outcome = Awaited<ReturnType<typeof attempt>>

/** What processes read once: workers are renewed where a limit of their listener is another one. */
const settle = ({ crew, log }: ReloadOptions, before: Settings, now: Settings): void => {
  log.level(now.log.level)
  const listener = ({ limits, timeouts }: Settings) => JSON.stringify([limits, timeouts])
  if (listener(before) !== listener(now)) void crew.renew()
}

const describe = (outcome: Outcome, version: number, ms: number, first: Built): Report => {
  const time = new Date().toISOString()
  if (outcome.type === 'unchanged') {
    return {
      outcome: 'unchanged',
      version,
      time,
      text: `nothing changed; still serving #${version}`,
    }
  }
  if (outcome.type === 'problems') {
    const text = `${outcome.text}\n\nstill serving #${version}`
    return { outcome: 'problems', version, time, text, problems: outcome.problems }
  }
  const later = FIXED.filter(name => outcome.settings[name] !== first.settings[name])
  const notes = later.map(name => `settings.${name} counts from the next start`)
  const text = `reload #${version}: ${[outcome.change, ...notes, `${ms} ms`].join(', ')}`
  return { outcome: 'live', version, time, text }
}
/** What is bound or opened once. */
const FIXED = ['listen', 'admin', 'workers', 'data', 'database'] as const

const tell = ({ log, metrics }: ReloadOptions, report: Report): void => {
  const { outcome, version, problems } = report
  metrics.count('reloads_total', { outcome })
  metrics.gauge('config_version', {}, version)
  metrics.gauge('config_reload_ok', {}, outcome === 'problems' ? 0 : 1)
  if (outcome === 'problems') log.error({ version, problems }, 'a new version has problems')
  else log.info({ version, outcome }, report.text)
}
