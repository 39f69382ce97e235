/** Background work, done by one process of the installation at a time: the one that holds the lease of its name. */
import { randomUUID } from 'node:crypto'
import type { Database, Log, Migration } from '../plugin.ts'
import { monotonic } from './clock.ts'
import { LEASE_TABLE, Lease } from './lease.ts'

export interface Jobs {
  /** Runs it every so often (ms) in whichever process holds the lease. Returns how to stop. */
  start(name: string, every: number, run: (signal: AbortSignal) => Promise<void>): () => void
  /** Stops everything and hands the leases back. */
  close(): Promise<void>
}
export interface JobsOptions {
  readonly database: Pick<Database, 'read' | 'write'> & {
    migrate(owner: string, migrations: readonly Migration[]): Promise<void>
  }
  readonly log: Log
  /** ms without a sign of life until another process takes over. */
  readonly lease?: number
}

/** What runs no background work: commands, trials, tests. */
export const noJobs: Jobs = { start: () => () => {}, close: async () => {} }

export const createJobs = ({ database, log, lease = 15_000 }: JobsOptions): Jobs => {
  const holder = randomUUID()
  const jobs = new Map<string, Job>()
  let table: Promise<void> | undefined
  /** Made when the first job starts; asked again if the store was away. */
  const ready = (): Promise<void> => {
    table ??= database.migrate('jobs', LEASE_TABLE).catch(error => {
      table = undefined
      throw error
    })
    return table
  }
  const open = (name: string): Job => {
    const job: Job = new Job({
      name,
      log,
      beat: lease / BEATS,
      ready,
      lease: new Lease({ database, name, holder, ms: lease, lost: () => job.abort() }),
    })
    jobs.set(name, job)
    return job
  }
  return {
    start: (name, every, run) => (jobs.get(name) ?? open(name)).add({ every, run }),
    async close() {
      await Promise.all([...jobs.values()].map(job => job.close()))
    },
  }
}
const BEATS = 4

interface JobParts {
  readonly name: string
  readonly log: Log
  /** ms. */
  readonly beat: number
  readonly lease: Lease
  ready(): Promise<void>
}
interface Runner {
  readonly every: number
  run(signal: AbortSignal): Promise<void>
}
interface Run {
  readonly runner: Runner
  readonly stop: AbortController
  readonly done: Promise<void>
}

/** One name: at most one run at a time here, and none without the lease. */
class Job {
  readonly #parts: JobParts
  /** Of the snapshots that want it, the last one's runs: a reload keeps the lease within the process. */
  #runners: Runner[] = []
  #loop: Promise<void> | undefined
  #run: Run | undefined
  #next = 0
  #beatAt = 0
  #wake = (): void => {}

  constructor(parts: JobParts) {
    this.#parts = parts
  }
  add(runner: Runner): () => void {
    this.#runners.push(runner)
    this.#loop ??= this.#live()
    return () => {
      this.#runners = this.#runners.filter(each => each !== runner)
      if (this.#run?.runner === runner) this.abort()
      this.#wake()
    }
  }
  abort(): void {
    this.#run?.stop.abort()
  }
  async close(): Promise<void> {
    this.#runners = []
    this.abort()
    this.#wake()
    await this.#loop
  }
  /** Beats as long as anything runs, even what was told to stop: nobody else may begin before it has. */
  async #live(): Promise<void> {
    const { lease, beat } = this.#parts
    while (this.#runners.length > 0 || this.#run) {
      if (!lease.held || monotonic() >= this.#beatAt) {
        this.#beatAt = monotonic() + beat
        await this.#tryTo(() => lease.keep())
      }
      const runner = this.#runners.at(-1)
      if (runner && !this.#run && lease.held && monotonic() >= this.#next) this.#begin(runner)
      if (runner || this.#run) await this.#nap()
    }
    await this.#tryTo(() => lease.leave())
    this.#loop = this.#runners.length > 0 ? this.#live() : undefined
  }
  async #tryTo(act: () => Promise<void>): Promise<void> {
    const { name, log, ready } = this.#parts
    try {
      await ready()
      await act()
    } catch (error) {
      log.warn({ job: name, error }, 'the store did not answer for the lease of a job')
    }
  }
  #begin(runner: Runner): void {
    const { name, log } = this.#parts
    const stop = new AbortController()
    const done = Promise.try(() => runner.run(stop.signal))
      .catch(error => {
        if (!stop.signal.aborted) log.error({ job: name, error }, 'a job failed')
      })
      .then(() => {
        this.#run = undefined
        this.#next = monotonic() + runner.every
        this.#wake()
      })
    this.#run = { runner, stop, done }
  }
  /** Until the next beat or the next run is due, or somebody starts, ends or stops. */
  #nap(): Promise<void> {
    const { beat, lease } = this.#parts
    const due = this.#run || !lease.held ? beat : this.#next - monotonic()
    return new Promise(resolve => {
      const timer = setTimeout(resolve, Math.max(1, Math.min(beat, due))).unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
