/** Background jobs: each runs in one process of the installation at a time, the holder of its
 *  lease. */
import type { Job as JobHandle, Log } from '../plugin.ts'
import { monotonic } from './clock.ts'
import type { Lease, Leases } from './leases.ts'

export interface Jobs {
  /** Runs a job every `every` ms: in the process that holds the lease, or in `each`. A run that was
   *  aborted is repeated as soon as one may begin, and one that failed after `retry` ms or more. */
  start(
    name: string,
    every: number,
    run: (signal: AbortSignal) => Promise<void>,
    options?: { readonly each?: boolean },
  ): StartedJob
  /** Stops all jobs and releases the leases. */
  close(): Promise<void>
}
interface StartedJob extends JobHandle {
  stop(): void
}
export interface JobsOptions {
  readonly leases: Leases
  readonly log: Log
  /** ms until a run that failed is repeated, at most the interval of its job; doubled with each
   *  further failure. */
  readonly retry?: number
}
const RETRY = 10_000

/** For processes without background jobs: CLI commands, the builder, tests. */
export const noJobs: Jobs = { start: () => ({ wake() {}, stop() {} }), close: async () => {} }

export const createJobs = ({ leases, log, retry = RETRY }: JobsOptions): Jobs => {
  const jobs = new Map<string, Job>()
  const open = (name: string, each = false): Job => {
    const job = new Job({ name, log, retry, leases: each ? EVERYWHERE : leases })
    jobs.set(name, job)
    return job
  }
  return {
    start: (name, every, run, { each } = {}) =>
      (jobs.get(name) ?? open(name, each)).add({ every, run }),
    async close() {
      await Promise.all([...jobs.values()].map(job => job.close()))
    },
  }
}

interface JobParts {
  readonly name: string
  readonly log: Log
  readonly retry: number
  readonly leases: Pick<Leases, 'open' | 'refresh'>
}
/** For jobs of every process: a lease that all of them hold. */
const EVERYWHERE: JobParts['leases'] = {
  open: () => ({ isHeld: true, release: async () => {} }),
  refresh: async () => {},
}
interface Runner {
  readonly every: number
  run(signal: AbortSignal): Promise<void>
}
interface Run {
  readonly runner: Runner
  readonly stop: AbortController
}

/** One job: at most one run at a time in this process, and none without the lease. */
class Job {
  readonly #parts: JobParts
  /** One runner per snapshot; the last one runs. A reload keeps the lease within the process. */
  #runners: Runner[] = []
  #loop: Promise<void> | undefined
  #run: Run | undefined
  #next = 0
  /** Runs that failed since the last one that did not. */
  #failures = 0
  /** Someone asked for a run since the last one began. */
  #isWoken = false
  #wake = (): void => {}

  constructor(parts: JobParts) {
    this.#parts = parts
  }
  add(runner: Runner): StartedJob {
    this.#runners.push(runner)
    this.#loop ??= this.#runLoop()
    return {
      stop: () => {
        this.#runners = this.#runners.filter(each => each !== runner)
        if (this.#run?.runner === runner) this.#abort()
        this.#wake()
      },
      wake: () => {
        this.#isWoken = true
        this.#next = 0
        this.#wake()
      },
    }
  }
  async close(): Promise<void> {
    this.#runners = []
    this.#abort()
    this.#wake()
    await this.#loop
  }
  #abort(): void {
    this.#run?.stop.abort()
  }
  /** Keeps the lease as long as a run lasts, even an aborted one: no other process may begin before
   *  it has ended. */
  async #runLoop(): Promise<void> {
    const { name, leases } = this.#parts
    const lease = leases.open(name, {
      onHeld: () => this.#wake(),
      onLost: () => this.#abort(),
    })
    await this.#attempt(() => leases.refresh())
    while (this.#runners.length > 0 || this.#run) {
      const runner = this.#runners.at(-1)
      if (runner && !this.#run && lease.isHeld && monotonic() >= this.#next) this.#startRun(runner)
      if (runner || this.#run) await this.#waitForChange(lease)
    }
    await this.#attempt(() => lease.release())
    this.#loop = this.#runners.length > 0 ? this.#runLoop() : undefined
  }
  async #attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      const { name, log } = this.#parts
      log.warn({ job: name, error }, 'the lease of a job could not be read or released')
    }
  }
  #startRun(runner: Runner): void {
    this.#isWoken = false
    const stop = new AbortController()
    this.#run = { runner, stop }
    void Promise.try(() => runner.run(stop.signal)).then(
      () => {
        this.#failures = 0
        this.#endRun(runner.every, stop.signal)
      },
      error => this.#endRun(this.#retryDelay(runner, stop.signal, error), stop.signal),
    )
  }
  #retryDelay({ every }: Runner, { aborted }: AbortSignal, error: unknown): number {
    if (aborted) return 0
    const { name, log, retry } = this.#parts
    log.error({ job: name, error }, 'a job failed')
    return Math.min(every, retry * 2 ** this.#failures++)
  }
  /** A run that was aborted has not done its work: the next one begins without an interval. */
  #endRun(delay: number, { aborted }: AbortSignal): void {
    this.#run = undefined
    this.#next = this.#isWoken || aborted ? 0 : monotonic() + delay
    this.#wake()
  }
  /** Waits until the next run is due, or the lease, a runner or the run changes. */
  #waitForChange(lease: Lease): Promise<void> {
    const due = this.#run || !lease.isHeld ? undefined : this.#next - monotonic()
    return new Promise(resolve => {
      const timer = due === undefined ? undefined : setTimeout(resolve, Math.max(1, due)).unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
