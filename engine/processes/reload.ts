/** From a change to a version that serves, or to a report of why not. One build at a time; changes meanwhile make one more. */
import { type Problem, SHOWN } from '../config/problem.ts'
import type { ProcessLog } from '../observe/log.ts'
import type { GatewayMetrics } from '../observe/metrics.ts'
import type { Settings } from '../snapshot/snapshot.ts'
import type { Workshop } from './builder-client.ts'
import type { Build, Built } from './messages.ts'
import type { Crew } from './worker-pool.ts'

export interface Report {
  readonly outcome: 'live' | 'unchanged' | 'problems'
  /** The version that serves now. */
  readonly version: number
  /** As a person reads it. */
  readonly text: string
  readonly problems?: readonly Problem[]
  readonly time: string
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

export class Reloads {
  readonly #options: ReloadOptions
  #serving: Built & { readonly time: string }
  #failure: Report | undefined
  /** What the files held when they were last live. */
  #filed: string
  #last: Promise<unknown> = Promise.resolve()
  #waiting: Promise<Report> | undefined

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#serving = { ...options.first, time: now() }
    this.#filed = options.first.hash
    options.metrics.gauge('config_version', {}, options.first.version)
    options.metrics.gauge('config_reload_ok', {}, 1)
  }
  get serving(): Built & { readonly time: string } {
    return this.#serving
  }
  /** The last attempt's, while it has not been repaired. */
  get failure(): Report | undefined {
    return this.#failure
  }
  /** Brings the files live, where they differ from what serves. */
  reload(): Promise<Report> {
    return this.#enqueue(() => ({}))
  }
  /** The same for a change that was noticed, not asked for: what was rolled back does not come back by itself. */
  changed(): Promise<Report> {
    this.#waiting ??= this.#enqueue(() => ({ unless: this.#filed }))
    return this.#waiting
  }
  /** Puts an earlier version live: the one named, or the one before the serving. */
  rollback(to: number | 'previous'): Promise<Report> {
    return this.#enqueue(() => ({ rollback: to }))
  }

  /** One after another. Changes that come while one waits are part of it. */
  #enqueue(request: () => Request): Promise<Report> {
    const report = this.#last.then(() => {
      this.#waiting = undefined
      return this.#run(request())
    })
    this.#last = report.catch(() => {})
    return report
  }
  async #run(request: Request): Promise<Report> {
    const started = performance.now()
    const before = this.#serving
    const outcome = await attempt(this.#options, request)
    if (outcome.watched.length > 0) this.#options.watch(outcome.watched)
    if (outcome.type === 'built') {
      this.#serving = { ...outcome, time: now() }
      if (request.rollback === undefined) this.#filed = outcome.hash
      settle(this.#options, before.settings, outcome.settings)
    }
    const ms = Math.round(performance.now() - started)
    const report = describe(outcome, this.#serving.version, ms, this.#options.first)
    // A watch that looks twice is no news; a repaired fault is.
    if (report.outcome !== 'unchanged' || this.#failure) this.#options.say(report.text)
    this.#failure = report.outcome === 'problems' ? report : undefined
    tell(this.#options, report)
    return report
  }
}
type Request = Omit<Build, 'type'>
const now = (): string => new Date().toISOString()

/** Builds, then lets every worker prepare, then all swap. */
const attempt = async ({ workshop, crew, log }: ReloadOptions, request: Request) => {
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
  const time = now()
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
const FIXED = ['listen', 'admin', 'workers', 'data', 'database', 'durability'] as const

const tell = ({ log, metrics }: ReloadOptions, report: Report): void => {
  const { outcome, version, problems } = report
  metrics.count('reloads_total', { outcome })
  metrics.gauge('config_version', {}, version)
  metrics.gauge('config_reload_ok', {}, outcome === 'problems' ? 0 : 1)
  if (!problems) return log.info({ version, outcome }, report.text)
  const [all, shown] = [problems.length, problems.slice(0, SHOWN)]
  log.error({ version, problems: shown, all }, 'a new version has problems')
}
