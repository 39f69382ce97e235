/** The writes of a process: lists that gather during a commit form the next one. If the result of a
 *  COMMIT was lost, it is determined before the next commit. */
import type { Row, Statement } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { declaredCode, toFault } from '../refusal-fault.ts'
import type { Refusal } from '../sqlite/frames.ts'
import type { Outcome } from '../sqlite/group-commit.ts'
import { toWire } from '../values.ts'
import { PostgresClient } from './client.ts'
import type { DialectCache } from './dialect-cache.ts'
import { unavailableFault } from './error-codes.ts'
import { commitGroup } from './group-commit.ts'
import { createListMerger, type MergeLists } from './merge-lists.ts'
import type { ConnectionOptions } from './reads.ts'
import type { Session } from './session.ts'
import { type Step, stepOf } from './steps.ts'

type Rows = readonly (readonly Row[])[]
interface PendingList {
  readonly statements: readonly Statement[]
  readonly steps: readonly Step[]
  deadline: number
  result: PromiseWithResolvers<Rows>
  /** Retries left after a lock conflict, and after a key that another process took. */
  tries: number
  keyTries: number
  /** The caller has received a timeout fault. */
  isTimedOut: boolean
  /** The outcome after a timeout fault. */
  lateOutcome?: Outcome | 'nothing'
}
// Beyond this many lists the store is stuck, and more would only fill memory.
const MAX_PENDING = 10_000
// Lists per transaction: the first of a long queue must not wait for the last.
const MAX_GROUP = 256
const MAX_RETRIES = 1
// Each retry may meet a number that yet another process has taken.
const MAX_KEY_RETRIES = 20

export class Commits {
  readonly #writeTimeout: number
  readonly #dialects: DialectCache
  readonly #mergeLists: MergeLists
  readonly client: PostgresClient
  #queue: PendingList[] = []
  #inFlight: readonly PendingList[] = []
  /** Whether COMMIT has been sent for the group in flight. */
  #isCommitSent = false
  /** Lists whose COMMIT has an unknown result. */
  #unresolvedLists: readonly PendingList[] = []
  readonly #unknownLists = new WeakMap<readonly Statement[], PendingList>()
  #isRunning = false
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor({ url, writeTimeout, newest, dialects }: ConnectionOptions) {
    this.#writeTimeout = writeTimeout
    this.#dialects = dialects
    this.#mergeLists = createListMerger(dialects)
    this.client = new PostgresClient({
      url,
      writeTimeout,
      newest,
      onConnected: (_session, outcomes) => {
        this.#resolve(outcomes)
        this.#schedule()
      },
    })
  }
  write(statements: readonly Statement[]): Promise<Rows> {
    if (statements.length === 0) return Promise.resolve([])
    const unknownList = this.#unknownLists.get(statements)
    if (unknownList && unknownList.lateOutcome === undefined) return this.#repeat(unknownList)
    this.#unknownLists.delete(statements)
    if (unknownList?.lateOutcome && unknownList.lateOutcome !== 'nothing') {
      this.#complete(
        Object.assign(unknownList, newDeadline(this.#writeTimeout)),
        unknownList.lateOutcome,
      )
      return unknownList.result.promise
    }
    if (this.#isUnavailable()) return Promise.reject(unavailableFault(this.client.cause))
    try {
      for (const { values } of statements) for (const value of values) toWire(value)
    } catch (error) {
      return Promise.reject(error)
    }
    const steps = statements.map(statement => stepOf(this.#dialects, statement))
    const entry: PendingList = {
      statements,
      steps,
      tries: MAX_RETRIES,
      keyTries: MAX_KEY_RETRIES,
      ...newDeadline(this.#writeTimeout),
    }
    this.#queue.push(entry)
    this.#startTimer()
    this.#schedule()
    return entry.result.promise
  }
  setCrashStatements(name: string, statements: readonly Statement[]): void {
    this.client.setCrashStatements(name, statements)
    this.#schedule()
  }
  /** Waits for pending lists, then disconnects and clears the on-crash statements. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#pending().map(({ result }) => result.promise))
    this.#closed = true
    clearTimeout(this.#timer)
    await this.client.close()
  }

  #pending(): PendingList[] {
    return [...this.#unresolvedLists, ...this.#inFlight, ...this.#queue]
  }
  #isUnavailable(): boolean {
    const { downSince } = this.client
    const isDown = downSince !== undefined && performance.now() - downSince > this.#writeTimeout
    const pending = this.#queue.length + this.#inFlight.length + this.#unresolvedLists.length
    return this.#closed || isDown || pending >= MAX_PENDING
  }
  /** The caller repeats a list whose result is still unknown. */
  #repeat(entry: PendingList): Promise<Rows> {
    if (entry.isTimedOut) {
      Object.assign(entry, newDeadline(this.#writeTimeout))
      this.#startTimer()
    }
    return entry.result.promise
  }
  /** No timer: all lists of one turn of the event loop form a group. */
  #schedule(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    setImmediate(() => void this.#run())
  }
  async #run(): Promise<void> {
    for (;;) {
      const { session, hasChanges } = this.client
      if (!session || (this.#queue.length === 0 && !hasChanges)) break
      await this.#commit(session, this.#queue.splice(0, MAX_GROUP))
    }
    this.#isRunning = false
  }
  async #commit(session: Session, entries: readonly PendingList[]): Promise<void> {
    this.#inFlight = entries
    try {
      const outcomes = await commitGroup(
        session,
        {
          lists: entries.map(({ steps }) => steps),
          mergeLists: this.#mergeLists,
          own: this.client.takeCrashStatements(),
          beforeCommit: () => {
            // A timeout fault promises its caller that nothing is written.
            this.#isCommitSent = !entries.some(({ isTimedOut }) => isTimedOut)
            return this.#isCommitSent
          },
          sealQuery: all => this.client.sealQuery(all),
        },
        this.#writeTimeout,
      )
      if (outcomes) for (const [at, entry] of entries.entries()) this.#settle(entry, outcomes[at])
      else this.#requeue(entries)
    } catch (error) {
      this.client.cause = error
      if (this.#isCommitSent) this.#unresolvedLists = entries
      else this.#requeue(entries)
      session.drop()
    } finally {
      this.#inFlight = []
      this.#isCommitSent = false
    }
  }
  /** Retries a list in a later group: after a lock conflict or a deadlock, and after a key that
   *  another process has taken meanwhile, such as the next number of a table. */
  #settle(entry: PendingList, outcome: Outcome | undefined): void {
    const refusal = outcome && 'refusal' in outcome ? outcome.refusal : undefined
    const mayPass =
      (refusal?.kind === 'unavailable' && entry.tries-- > 0) ||
      (refusal?.unique && !isExpected(refusal, entry) && entry.keyTries-- > 0)
    if (mayPass && !entry.isTimedOut) this.#queue.push(entry)
    else this.#complete(entry, outcome)
  }
  #requeue(entries: readonly PendingList[]): void {
    this.client.resendCrashStatements()
    this.#queue = [...entries.filter(({ isTimedOut }) => !isTimedOut), ...this.#queue]
  }
  #resolve(outcomes: readonly Outcome[] | undefined | 'forgotten'): void {
    const lists = this.#unresolvedLists
    this.#unresolvedLists = []
    if (outcomes === 'forgotten') {
      const unknown: Outcome = { refusal: { kind: 'unknown', at: 0 } }
      for (const entry of lists) this.#complete(entry, unknown)
    } else if (outcomes) {
      for (const [at, entry] of lists.entries()) this.#complete(entry, outcomes[at])
    } else {
      for (const entry of lists) if (entry.isTimedOut) entry.lateOutcome = 'nothing'
      this.#requeue(lists)
    }
  }
  #complete(entry: PendingList, outcome: Outcome | undefined): void {
    const finalOutcome = outcome ?? { refusal: { kind: 'unknown', at: 0 } }
    if (entry.isTimedOut) {
      entry.lateOutcome = finalOutcome
      return
    }
    if ('refusal' in finalOutcome)
      entry.result.reject(toFault(finalOutcome.refusal, entry.statements))
    else entry.result.resolve(finalOutcome.rows)
    this.#unknownLists.delete(entry.statements)
  }
  #startTimer(): void {
    this.#timer ??= setTimeout(() => this.#expire(), this.#writeTimeout)
  }
  #expire(): void {
    const now = performance.now()
    const open = this.#pending().filter(({ isTimedOut }) => !isTimedOut)
    const overdue = open.filter(({ deadline }) => deadline <= now)
    for (const entry of overdue) {
      entry.isTimedOut = true
      const isSent =
        this.#unresolvedLists.includes(entry) ||
        (this.#isCommitSent && this.#inFlight.includes(entry))
      if (isSent) this.#unknownLists.set(entry.statements, entry)
      entry.result.reject(isSent ? fault('STORE_UNKNOWN') : unavailableFault(this.client.cause))
    }
    this.#queue = this.#queue.filter(({ isTimedOut }) => !isTimedOut)
    const next = Math.min(
      ...open.filter(({ isTimedOut }) => !isTimedOut).map(({ deadline }) => deadline),
    )
    this.#timer = Number.isFinite(next)
      ? setTimeout(() => this.#expire(), Math.max(1, next - now))
      : undefined
  }
}

const isExpected = (refusal: Refusal, { statements }: PendingList): boolean =>
  declaredCode(refusal, statements[refusal.at]) !== undefined
const newDeadline = (writeTimeout: number) => ({
  deadline: performance.now() + writeTimeout,
  result: Promise.withResolvers<Rows>(),
  isTimedOut: false,
})
