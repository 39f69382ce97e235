/** A process's writes: what gathers while the last commit runs is the next one, and what became of one whose answer
 *  was lost is found out before the next. */
import type { Row, Statement } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { toFault } from '../refused-list.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { toWire } from '../values.ts'
import { Client } from './client.ts'
import type { Phrases } from './dialect-cache.ts'
import { commitGroup } from './group-commit.ts'
import { awayFault } from './refused-statement.ts'
import type { Session } from './session.ts'
import { type Step, stepOf } from './steps.ts'

type Rows = readonly (readonly Row[])[]
interface Entry {
  readonly statements: readonly Statement[]
  readonly steps: readonly Step[]
  until: number
  done: PromiseWithResolvers<Rows>
  /** How often it may still come back because a row was held by somebody else. */
  tries: number
  /** Its caller has been answered, for want of time. */
  told: boolean
  /** What came of it after that. */
  final?: Outcome | 'nothing'
}
export interface CommitsOptions {
  readonly url: string
  /** ms until a write that gets no answer is given up. */
  readonly patience: number
  readonly phrases: Phrases
}
// Beyond this the store is not slow but stuck, and waiting would only fill memory.
const MOST_PENDING = 10_000
// So that the first of a great many does not wait for the last.
const TOGETHER = 256
const TRIES = 1

export class Commits {
  readonly #patience: number
  readonly #phrases: Phrases
  readonly client: Client
  #waiting: Entry[] = []
  #flying: readonly Entry[] = []
  /** COMMIT has been sent for those that fly. */
  #committing = false
  /** The answer to their COMMIT was lost. */
  #lost: readonly Entry[] = []
  readonly #unknown = new WeakMap<readonly Statement[], Entry>()
  #running = false
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor({ url, patience, phrases }: CommitsOptions) {
    this.#patience = patience
    this.#phrases = phrases
    this.client = new Client({
      ...{ url, patience },
      came: (_session, outcomes) => {
        this.#resolve(outcomes)
        this.#kick()
      },
    })
  }
  write(statements: readonly Statement[]): Promise<Rows> {
    if (statements.length === 0) return Promise.resolve([])
    const before = this.#unknown.get(statements)
    if (before && before.final === undefined) return this.#again(before)
    this.#unknown.delete(statements)
    if (before?.final && before.final !== 'nothing') {
      this.#answer(Object.assign(before, anew(this.#patience)), before.final)
      return before.done.promise
    }
    if (this.#refuses()) return Promise.reject(awayFault(this.client.cause))
    try {
      for (const { values } of statements) for (const value of values) toWire(value)
    } catch (error) {
      return Promise.reject(error)
    }
    const steps = statements.map(statement => stepOf(this.#phrases, statement))
    const entry: Entry = { statements, steps, tries: TRIES, ...anew(this.#patience) }
    this.#waiting.push(entry)
    this.#watch()
    this.#kick()
    return entry.done.promise
  }
  will(name: string, statements: readonly Statement[]): void {
    this.client.will(name, statements)
    this.#kick()
  }
  /** Waits for what was written, then takes leave: no will is applied. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#pending().map(({ done }) => done.promise))
    this.#closed = true
    clearTimeout(this.#timer)
    await this.client.close()
  }

  #pending(): Entry[] {
    return [...this.#lost, ...this.#flying, ...this.#waiting]
  }
  #refuses(): boolean {
    const { downSince } = this.client
    const away = downSince !== undefined && performance.now() - downSince > this.#patience
    const pending = this.#waiting.length + this.#flying.length + this.#lost.length
    return this.#closed || away || pending >= MOST_PENDING
  }
  /** It came back with a list of which nobody knows yet. */
  #again(entry: Entry): Promise<Rows> {
    if (entry.told) {
      Object.assign(entry, anew(this.#patience))
      this.#watch()
    }
    return entry.done.promise
  }
  /** No timer: what one turn of the loop wrote goes together. */
  #kick(): void {
    if (this.#running) return
    this.#running = true
    setImmediate(() => void this.#run())
  }
  async #run(): Promise<void> {
    for (;;) {
      const { session, hasNews } = this.client
      if (!session || (this.#waiting.length === 0 && !hasNews)) break
      await this.#commit(session, this.#waiting.splice(0, TOGETHER))
    }
    this.#running = false
  }
  async #commit(session: Session, entries: readonly Entry[]): Promise<void> {
    this.#flying = entries
    try {
      const outcomes = await commitGroup(
        session,
        {
          lists: entries.map(({ steps }) => steps),
          own: this.client.takeWills(),
          committing: () => {
            // Its caller heard that nothing was written, so nothing may be.
            this.#committing = !entries.some(({ told }) => told)
            return this.#committing
          },
          seal: all => this.client.seal(all),
        },
        this.#patience,
      )
      if (outcomes) for (const [at, entry] of entries.entries()) this.#settle(entry, outcomes[at])
      else this.#takeBack(entries)
    } catch (error) {
      this.client.cause = error
      if (this.#committing) this.#lost = entries
      else this.#takeBack(entries)
      session.drop()
    } finally {
      this.#flying = []
      this.#committing = false
    }
  }
  /** Whoever met a lock or a deadlock is tried once more, apart from those it came with. */
  #settle(entry: Entry, outcome: Outcome | undefined): void {
    const waited = outcome && 'refused' in outcome && outcome.refused.kind === 'unavailable'
    if (waited && !entry.told && entry.tries-- > 0) this.#waiting.push(entry)
    else this.#answer(entry, outcome)
  }
  #takeBack(entries: readonly Entry[]): void {
    this.client.repeatWills()
    this.#waiting = [...entries.filter(({ told }) => !told), ...this.#waiting]
  }
  #resolve(outcomes: readonly Outcome[] | undefined | 'forgotten'): void {
    const lost = this.#lost
    this.#lost = []
    if (outcomes === 'forgotten') {
      const unknown: Outcome = { refused: { kind: 'unknown', at: 0 } }
      for (const entry of lost) this.#answer(entry, unknown)
    } else if (outcomes) {
      for (const [at, entry] of lost.entries()) this.#answer(entry, outcomes[at])
    } else {
      for (const entry of lost) if (entry.told) entry.final = 'nothing'
      this.#takeBack(lost)
    }
  }
  #answer(entry: Entry, outcome: Outcome | undefined): void {
    const known = outcome ?? { refused: { kind: 'unknown', at: 0 } }
    if (entry.told) {
      entry.final = known
      return
    }
    if ('refused' in known) entry.done.reject(toFault(known.refused, entry.statements))
    else entry.done.resolve(known.rows)
    this.#unknown.delete(entry.statements)
  }
  #watch(): void {
    this.#timer ??= setTimeout(() => this.#expire(), this.#patience)
  }
  #expire(): void {
    const now = performance.now()
    const open = this.#pending().filter(({ told }) => !told)
    const late = open.filter(({ until }) => until <= now)
    for (const entry of late) {
      entry.told = true
      const sent = this.#lost.includes(entry) || (this.#committing && this.#flying.includes(entry))
      if (sent) this.#unknown.set(entry.statements, entry)
      entry.done.reject(sent ? fault('STORE_UNKNOWN') : awayFault(this.client.cause))
    }
    this.#waiting = this.#waiting.filter(({ told }) => !told)
    const next = Math.min(...open.filter(({ told }) => !told).map(({ until }) => until))
    this.#timer = Number.isFinite(next)
      ? setTimeout(() => this.#expire(), Math.max(1, next - now))
      : undefined
  }
}

const anew = (patience: number) => ({
  until: performance.now() + patience,
  done: Promise.withResolvers<Rows>(),
  told: false,
})
