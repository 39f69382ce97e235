/** Reloads: turns a change into a live version or a report of problems. One build runs at a time;
 *  changes during a build cause one more. */
import { DEFAULT_LIMIT } from '../config/problem.ts'
import type { Settings } from '../config/settings.ts'
import type { ProcessLog } from '../observe/log.ts'
import type { GatewayMetrics } from '../observe/metrics.ts'
import type { ReloadCaller, ReloadReport } from '../plugin.ts'
import type { BuilderClient } from './builder-client.ts'
import type { Build, BuiltVersion } from './messages.ts'
import type { WorkerPool } from './worker-pool.ts'

export interface ReloadOptions {
  readonly first: BuiltVersion
  readonly builder: BuilderClient
  readonly pool: WorkerPool
  readonly log: ProcessLog
  readonly metrics: GatewayMetrics
  say(text: string): void
  watch(folders: readonly string[]): void
}

export class Reloader {
  readonly #options: ReloadOptions
  #serving: BuiltVersion & { readonly time: string }
  #failure: ReloadReport | undefined
  /** Content hash of the files when they last went live. */
  #fileHash: string
  #last: Promise<unknown> = Promise.resolve()
  #queuedReload: Promise<ReloadReport> | undefined

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#serving = { ...options.first, time: now() }
    this.#fileHash = options.first.hash
    options.metrics.gauge('config_version', {}, options.first.version)
    options.metrics.gauge('config_reload_ok', {}, 1)
  }
  get serving(): BuiltVersion & { readonly time: string } {
    return this.#serving
  }
  /** Report of the last reload if it failed. */
  get failure(): ReloadReport | undefined {
    return this.#failure
  }
  /** Loads the files and puts them live if they differ from the live version. */
  reload(by?: ReloadCaller): Promise<ReloadReport> {
    return this.#enqueue(() => (by ? { by } : {}))
  }
  /** Reloads after a file change. Unlike `reload`, it leaves files that were rolled back inactive.
   *  */
  filesChanged(): Promise<ReloadReport> {
    this.#queuedReload ??= this.#enqueue(() => ({ unless: this.#fileHash }))
    return this.#queuedReload
  }
  /** Puts an earlier version live: the given number, or the one before the live version. */
  rollback(to: number | 'previous', by?: ReloadCaller): Promise<ReloadReport> {
    return this.#enqueue(() => ({ rollback: to, ...(by && { by }) }))
  }

  /** Runs reloads one after another. A queued reload includes the changes made while it waits. */
  #enqueue(request: () => BuildRequest): Promise<ReloadReport> {
    const report = this.#last.then(() => {
      this.#queuedReload = undefined
      return this.#run(request())
    })
    this.#last = report.catch(() => {})
    return report
  }
  async #run(request: BuildRequest): Promise<ReloadReport> {
    const startTime = performance.now()
    const before = this.#serving
    const outcome = await buildAndPublish(this.#options, request)
    if (outcome.watchedPaths.length > 0) this.#options.watch(outcome.watchedPaths)
    if (outcome.type === 'built') {
      this.#serving = { ...outcome, time: now() }
      if (request.rollback === undefined) this.#fileHash = outcome.hash
      applySettings(this.#options, before.settings, outcome.settings)
    }
    const ms = Math.round(performance.now() - startTime)
    const report = describeOutcome(outcome, this.#serving, ms, this.#options.first)
    // A wrong number is the caller's mistake: the configuration has no problem.
    if (report.problems?.every(({ code }) => code === 'NO_VERSION')) return report
    // A repeated file event without a change is not reported, unless it ends a failure.
    if (report.outcome !== 'unchanged' || this.#failure) this.#options.say(report.text)
    this.#failure = report.outcome === 'problems' ? report : undefined
    recordReport(this.#options, report)
    return report
  }
}
type BuildRequest = Omit<Build, 'type'>
const now = (): string => new Date().toISOString()

/** Builds a version, has every worker prepare it, then has all of them swap. */
const buildAndPublish = async ({ builder, pool, log }: ReloadOptions, request: BuildRequest) => {
  const build = await builder.build(request)
  if (build.type !== 'built') return build
  log.hide(build.secrets)
  const refusal = await pool.publish(build)
  if (refusal === undefined) {
    builder.markLive(build)
    return build
  }
  const { watchedPaths } = build
  if (refusal !== 'died') return { ...refusal, type: 'problems' as const, watchedPaths }
  const message = 'workers ended twice while they prepared this version; see the log for the reason'
  const problems = [{ code: 'WORKER_ENDS', message, file: 'routes.yaml', line: 1, column: 1 }]
  return { type: 'problems' as const, problems, text: `WORKER_ENDS  ${message}`, watchedPaths }
}
type Outcome = Awaited<ReturnType<typeof buildAndPublish>>

/** Applies settings that processes read once: replaces the workers if limits or timeouts of their
 *  listener changed. */
const applySettings = ({ pool, log }: ReloadOptions, before: Settings, now: Settings): void => {
  log.level(now.log.level)
  const listener = ({ limits, timeouts }: Settings) => JSON.stringify([limits, timeouts])
  if (listener(before) !== listener(now)) void pool.renew()
}

const describeOutcome = (
  outcome: Outcome,
  { version, time: since }: Reloader['serving'],
  ms: number,
  first: BuiltVersion,
): ReloadReport => {
  const time = now()
  if (outcome.type === 'unchanged') {
    return {
      outcome: 'unchanged',
      version,
      time,
      text: `#${version} is live since ${since}; the files have not changed since then`,
    }
  }
  if (outcome.type === 'problems') {
    const isUnset = outcome.problems.some(({ code }) => code === 'VARIABLE_UNSET')
    const hint = isUnset ? `\n\n${RESTART_FOR_VARIABLES}` : ''
    const text = `${outcome.text}${hint}\n\nstill serving #${version}`
    return { outcome: 'problems', version, time, text, problems: outcome.problems }
  }
  const later = START_SETTINGS.filter(name => outcome.settings[name] !== first.settings[name])
  const hints = later.map(name => `settings.${name} takes effect at the next start`)
  const text = `reload #${version}: ${[outcome.change, ...hints, `${ms} ms`].join(', ')}`
  return { outcome: 'live', version, time, text }
}
const RESTART_FOR_VARIABLES =
  'A gateway reads its environment and .env only when it starts: set the variable there, then restart the gateway.'
/** Settings that only a start applies. */
const START_SETTINGS = [
  'listen',
  'admin',
  'workers',
  'young_generation',
  'data',
  'database',
  'durability',
] as const

const recordReport = ({ log, metrics }: ReloadOptions, report: ReloadReport): void => {
  const { outcome, version, problems } = report
  metrics.count('reloads_total', { outcome })
  metrics.gauge('config_version', {}, version)
  metrics.gauge('config_reload_ok', {}, outcome === 'problems' ? 0 : 1)
  if (!problems) return log.info({ version, outcome }, report.text)
  const [all, firstProblems] = [problems.length, problems.slice(0, DEFAULT_LIMIT)]
  log.error({ version, problems: firstProblems, all }, 'a new version has problems')
}
