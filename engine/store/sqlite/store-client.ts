/** Store client of a process: sends lists to the writer, waits for the results, and repeats lists
 *  without a result after a reconnect. */
import type { Migration, Row, Statement } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { PendingLists } from '../pending-lists.ts'
import { toFault } from '../refusal-fault.ts'
import { RepeatedLists } from '../repeated-lists.ts'
import { type EncodedStatement, encodeStatement, rowFromWire } from '../values.ts'
import type { ClientMessage, WireResult, WriterMessage } from './frames.ts'
import { StatementEncoder } from './statement-encoder.ts'
import { connectToWriter, type WriterConnection } from './writer-connection.ts'

// Beyond this many lists the store is stuck, and more would only fill memory.
const MAX_PENDING = 10_000
// A commit costs about as much for one list as for thirty. Lists wait for others while each turn of
// the event loop brings some, up to this number and this many ms.
const FULL_FRAME = 64
const MAX_GATHERING = 2

type Rows = readonly (readonly Row[])[]
const NO_ROWS: readonly Row[] = []
interface PendingList {
  readonly number: number
  readonly statements: readonly Statement[]
  /** Instead of statements. It has no deadline, since an index over many rows takes long. */
  readonly migration?: readonly [owner: string, migrations: readonly Migration[]]
  readonly deadline: number
  readonly result: PromiseWithResolvers<Rows>
  isSent: boolean
  isRepeat: boolean
}

export class StoreClient {
  readonly client: string
  readonly #connection: WriterConnection
  readonly #writeTimeout: number
  readonly #firstConnection = Promise.withResolvers<void>()
  readonly #pending = new PendingLists<PendingList>()
  #unsent: PendingList[] = []
  readonly #repeatedLists = new RepeatedLists()
  readonly #crashStatements = new Map<string, readonly EncodedStatement[]>()
  readonly #changedNames = new Set<string>()
  #encoder = new StatementEncoder()
  #last = 0
  #isSendScheduled = false
  /** Unsent lists a turn of the event loop ago, and when the first of them was there. */
  #gatheredLists = 0
  #gatheringSince = 0
  #closed = false
  #timer: NodeJS.Timeout | undefined

  /** `key`: of this process, unique in the store. `writeTimeout`: ms until a list is given up. */
  constructor(socket: string, writeTimeout: number, key: bigint) {
    this.client = String(key)
    this.#writeTimeout = writeTimeout
    this.#connection = connectToWriter(socket, {
      firstMessage: () => this.#firstMessage(),
      onMessage: message => this.#onMessage(message),
    })
  }
  /** Resolves at the first connection; rejects with STORE_UNAVAILABLE after `within` ms. */
  async open(within: number): Promise<void> {
    const timer = setTimeout(() => this.#firstConnection.reject(fault('STORE_UNAVAILABLE')), within)
    await this.#firstConnection.promise.finally(() => clearTimeout(timer))
  }
  write(statements: readonly Statement[]): Promise<Rows> {
    if (statements.length === 0) return Promise.resolve([])
    const number = this.#repeatedLists.numberOf(statements)
    const pendingRepeat = number === undefined ? undefined : this.#pending.get(number)
    if (pendingRepeat) return pendingRepeat.result.promise
    // The writer must not forget a list that is still repeated, however long the store is away.
    if (number !== undefined) this.#repeatedLists.remember(number, statements, performance.now())
    if (this.#isUnavailable()) return Promise.reject(fault('STORE_UNAVAILABLE'))
    const deadline = performance.now() + this.#writeTimeout
    this.#timer ??= setTimeout(() => this.#expire(), this.#writeTimeout)
    const isRepeat = number !== undefined
    return this.#add({ number: number ?? ++this.#last, statements, deadline, isRepeat })
  }
  /** Sets the on-crash statements of a name; an empty list clears them. */
  setCrashStatements(name: string, statements: readonly Statement[]): void {
    if (statements.length > 0) this.#crashStatements.set(name, statements.map(encodeStatement))
    else this.#crashStatements.delete(name)
    this.#changedNames.add(name)
    this.#schedule()
  }
  async migrate(owner: string, migrations: readonly Migration[]): Promise<void> {
    const migration = [owner, migrations] as const
    const number = ++this.#last
    const deadline = Number.POSITIVE_INFINITY
    await this.#add({
      number,
      statements: [],
      migration,
      deadline,
      isRepeat: false,
    })
  }
  /** Waits for pending lists, then disconnects and clears the on-crash statements. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#pending.values().map(({ result }) => result.promise))
    this.#closed = true
    clearTimeout(this.#timer)
    this.#connection.send('{"bye":true}')
    await this.#connection.close()
  }

  #isUnavailable(): boolean {
    const { downSince } = this.#connection
    const isDown = downSince !== undefined && performance.now() - downSince > this.#writeTimeout
    return this.#closed || isDown || this.#pending.size >= MAX_PENDING
  }
  #add(list: Omit<PendingList, 'result' | 'isSent'>): Promise<Rows> {
    const pending = { ...list, result: Promise.withResolvers<Rows>(), isSent: false }
    this.#pending.set(list.number, pending)
    this.#unsent.push(pending)
    this.#schedule()
    return pending.result.promise
  }
  #schedule(): void {
    if (!this.#isSendScheduled) setImmediate(this.#send)
    this.#isSendScheduled = true
  }
  /** Returns false once the last turn of the event loop brought no list. */
  #isGathering(): boolean {
    const { length } = this.#unsent
    const now = performance.now()
    if (this.#gatheredLists === 0) this.#gatheringSince = now
    const isGathering =
      length > this.#gatheredLists &&
      length < FULL_FRAME &&
      now - this.#gatheringSince < MAX_GATHERING
    this.#gatheredLists = isGathering ? length : 0
    return isGathering
  }
  readonly #send = (): void => {
    if (this.#isGathering()) return void setImmediate(this.#send)
    this.#isSendScheduled = false
    if (this.#connection.isConnected) this.#connection.send(this.#nextMessage(undefined))
  }
  /** Text of the next frame: its lists; everything else is rare. */
  #nextMessage(hello: string | undefined): string {
    const unsent = this.#unsent.filter(list => this.#pending.get(list.number) === list)
    this.#unsent = []
    const lists: string[] = []
    const migrations: (readonly [number, string, readonly Migration[]])[] = []
    for (const list of unsent)
      if (list.migration) migrations.push([list.number, ...list.migration])
      else this.#encode(list, lists)
    const oldest = this.#pending.least(this.#last + 1)
    const forget = this.#repeatedLists.forgettable(oldest, performance.now())
    const texts = this.#encoder.takeNewTexts()
    const rare: ClientMessage = {
      ...(hello !== undefined && { hello }),
      ...(texts.length > 0 && { texts }),
      ...(migrations.length > 0 && { migrations }),
      ...(this.#changedNames.size > 0 && { wills: this.#takeChangedStatements() }),
      ...(forget && { forget }),
    }
    const text = JSON.stringify(rare)
    return `{"lists":[${lists.join()}]${text === '{}' ? '}' : `,${text.slice(1)}`}`
  }
  #takeChangedStatements(): NonNullable<ClientMessage['wills']> {
    const names = [...this.#changedNames]
    this.#changedNames.clear()
    return names.map(name => [name, ...(this.#crashStatements.get(name) ?? [])] as const)
  }
  /** Adds the JSON of a list. A list with a value that cannot be stored is rejected. */
  #encode(list: PendingList, lists: string[]): void {
    try {
      lists.push(this.#encoder.encodeList(list.number, list.isRepeat, list.statements))
      list.isSent = true
    } catch (error) {
      this.#pending.delete(list.number)
      list.result.reject(error)
    }
  }
  /** First frame for a new writer: texts and on-crash statements again, and every list without a
   *  result. */
  #firstMessage(): string {
    this.#encoder = new StatementEncoder()
    for (const name of this.#crashStatements.keys()) this.#changedNames.add(name)
    this.#unsent = [...this.#pending.values()]
    for (const list of this.#unsent) list.isRepeat ||= list.isSent
    return this.#nextMessage(this.client)
  }

  #onMessage({ welcome, changes, done, answers }: WriterMessage): void {
    if (welcome) this.#firstConnection.resolve()
    if (changes) this.#encoder.sendsChanges = true
    for (const number of done ?? []) this.#settle([number])
    for (const answer of answers ?? []) this.#settle(answer)
  }
  #settle([number, rows, refusal]: WireResult): void {
    const list = this.#pending.get(number)
    // The caller has already received STORE_UNKNOWN, and may repeat the list.
    if (!list) return
    this.#pending.delete(number)
    if (refusal?.kind === 'unknown')
      this.#repeatedLists.remember(number, list.statements, performance.now())
    else this.#repeatedLists.forget(number, list.statements)
    if (refusal) list.result.reject(toFault(refusal, list.statements))
    else
      list.result.resolve(
        rows?.map(statementRows => statementRows.map(rowFromWire)) ??
          list.statements.map(() => NO_ROWS),
      )
  }
  #expire(): void {
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const list of this.#pending.values()) {
      if (list.deadline > now) {
        next = Math.min(next, list.deadline)
        continue
      }
      this.#pending.delete(list.number)
      // A list that was not sent was not applied; for one that was sent, the result is unknown.
      if (list.isSent) this.#repeatedLists.remember(list.number, list.statements, now)
      list.result.reject(fault(list.isSent ? 'STORE_UNKNOWN' : 'STORE_UNAVAILABLE'))
    }
    const hasMore = Number.isFinite(next)
    this.#timer = hasMore ? setTimeout(() => this.#expire(), next - now) : undefined
  }
}
