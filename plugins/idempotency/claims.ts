/** Claims and frees Idempotency-Keys, and reads stored responses. One per process, shared by its
 *  routes. */
import { isCode } from '../../engine/kit.ts'
import type {
  Bytes,
  Database,
  Exchange,
  Fault,
  Headers,
  Log,
  Membership,
  Row,
  Statement,
} from '../../engine/plugin.ts'
import { ADMISSION_TIMEOUT, writePages, writeWithRetry } from '../ledger/write-with-retry.ts'
import { fault } from './faults.ts'
import {
  claimKey,
  cleanKeys,
  expireKey,
  freeKey,
  type KeyName,
  PENDING,
  RESPONSE,
  replay,
  WITHHELD,
} from './statements.ts'

/** ms for which a key that is used up and has no response yet belongs to a request under way. */
const PENDING_TIME = 10_000
const notStored = ({ status, claimed }: Row, largest: number, now: number): Fault => {
  if (status === WITHHELD) return fault('IDEMPOTENCY_REPLY_WITHHELD')
  if (status !== PENDING) return fault('IDEMPOTENCY_REPLY_TOO_LARGE', [largest])
  const isRunning = now - Number(claimed) < PENDING_TIME
  return fault(isRunning ? 'IDEMPOTENCY_IN_FLIGHT' : 'IDEMPOTENCY_REPLY_LOST')
}

type Store = Pick<Database, 'write' | 'read' | 'now'>
interface Claimant extends Pick<Exchange, 'id' | 'cut'> {
  /** Whether it goes on without its claim. `isLost`: the claim is lost for certain, and not only
   *  perhaps. */
  goesOn?(isLost: boolean): boolean
}

export interface StoredResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Bytes
}

/** ms for which a response is stored, from the claim on. */
const RETENTION = 24 * 3_600_000
/** Attempts to claim a key. Another request may change the row between two statements. */
const ATTEMPTS = 5
/** ms until a failed write is retried. */
const RETRY_INTERVAL = 1_000
/** Rows that one transaction deletes. */
const PAGE = 500

export class Claims {
  readonly #database: Store
  readonly #log: Log
  readonly #membership: Membership
  readonly #running = new Map<string, Claimant>()
  /** Statements that the store has not confirmed yet, by request. */
  readonly #unwritten = new Map<string, Statement>()
  #timer: NodeJS.Timeout | undefined

  constructor(database: Store, log: Log, membership: Membership) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    // When this process may have been reaped, cut the requests that hold a claim: a reap deletes
    // the claims by a foreign key, and another process may then run the same request.
    membership.listen('idempotency', {
      onExpelled: () => this.#cutRunning(true),
      onSuspect: () => this.#cutRunning(false),
    })
  }
  /** The stored response of the key; undefined: the key is claimed for this exchange, and the
   *  caller must release it. */
  async claim(
    name: KeyName,
    body: string,
    exchange: Claimant,
    largest: number,
  ): Promise<StoredResponse | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const now = await this.#database.now()
      const row = await this.#readOrClaim(name, body, exchange, now)
      if (row === undefined || row.request === exchange.id) return undefined
      const request = String(row.request)
      if (row.status !== null && now - Number(row.claimed) >= RETENTION) {
        await writeWithRetry(this.#database, [expireKey(request)], ADMISSION_TIMEOUT)
        continue
      }
      const storedResponse = await this.#responseOf(row, request, { body, largest, now })
      if (storedResponse) return storedResponse
    }
    throw fault('IDEMPOTENCY_IN_FLIGHT')
  }
  /** Ends the claim of an exchange. `unwritten`: the statement to write if the exchange's
   *  transaction failed or its result is unknown; it is retried until the store confirms it. */
  release(request: string, unwritten?: Statement): void {
    this.#running.delete(request)
    if (!unwritten) return
    this.#unwritten.set(request, unwritten)
    void this.#write(request, unwritten)
  }
  /** Writes what replaces the early response of a request. False: the store is away. */
  replace(statement: Statement): Promise<boolean> {
    const write = writeWithRetry(this.#database, [statement], ADMISSION_TIMEOUT)
    return write.then(
      () => true,
      () => false,
    )
  }
  /** Deletes expired responses. */
  async clean(signal: AbortSignal): Promise<void> {
    const until = (await this.#database.now()) - RETENTION
    await writePages(this.#database, () => [cleanKeys(until, PAGE)], PAGE, signal)
  }
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#writeAll()
  }
  async #readOrClaim(
    name: KeyName,
    body: string,
    exchange: Claimant,
    claimedAt: number,
  ): Promise<Row | undefined> {
    const process = await this.#membership.name()
    // Before the write, so that an expulsion during the write cuts this exchange too.
    this.#running.set(exchange.id, exchange)
    try {
      const claim = { ...name, request: exchange.id, process, body, claimed: claimedAt }
      const [, [row] = []] = await writeWithRetry(
        this.#database,
        claimKey(claim),
        ADMISSION_TIMEOUT,
      )
      if (row?.request !== exchange.id) this.#running.delete(exchange.id)
      return row
    } catch (error) {
      // If the result of the write is unknown, the claim may exist.
      const isResultUnknown = isCode(error, 'STORE_UNKNOWN')
      this.release(exchange.id, isResultUnknown ? freeKey(exchange.id) : undefined)
      if (!isCode(error, 'IDEMPOTENCY_REAPED')) throw error
      this.#membership.reportExpelled(process)
      throw fault('IDEMPOTENCY_LOST')
    }
  }
  async #responseOf(
    row: Row,
    request: string,
    {
      body,
      largest,
      now,
    }: { readonly body: string; readonly largest: number; readonly now: number },
  ): Promise<StoredResponse | undefined> {
    if (row.body !== body) throw fault('IDEMPOTENCY_MISMATCH')
    if (row.status === null) throw fault('IDEMPOTENCY_IN_FLIGHT')
    if (!row.whole) throw notStored(row, largest, now)
    await writeWithRetry(this.#database, [replay(request)], ADMISSION_TIMEOUT)
    const [reply] = await this.#database.read(RESPONSE, [request])
    return (
      reply && {
        status: Number(reply.status),
        headers: JSON.parse(String(reply.headers)) as Headers,
        body: reply.reply as Bytes,
      }
    )
  }
  #cutRunning(isLost: boolean): void {
    for (const exchange of [...this.#running.values()])
      if (!exchange.goesOn?.(isLost)) exchange.cut(fault('IDEMPOTENCY_LOST'))
  }
  async #writeAll(): Promise<void> {
    this.#timer = undefined
    await Promise.all(
      [...this.#unwritten].map(([request, statement]) => this.#write(request, statement)),
    )
  }
  async #write(request: string, statement: Statement): Promise<void> {
    try {
      await writeWithRetry(this.#database, [statement])
    } catch (error) {
      // The transaction was committed after all, or the claim has another owner: no write is
      // needed.
      if (!isCode(error, 'IDEMPOTENCY_LOST')) {
        this.#log.warn({ request, error }, 'an Idempotency-Key could not be released yet')
        this.#timer ??= setTimeout(() => void this.#writeAll(), RETRY_INTERVAL).unref()
        return
      }
    }
    this.#unwritten.delete(request)
  }
}
