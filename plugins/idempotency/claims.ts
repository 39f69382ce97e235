/** Claims and frees Idempotency-Keys, and reads stored responses. One per process, shared by its routes. */
import { isCode } from '../../engine/kit.ts'
import type {
  Bytes,
  Database,
  Exchange,
  Headers,
  Log,
  Membership,
  Row,
  Statement,
} from '../../engine/plugin.ts'
import { ADMISSION_TIMEOUT, writeWithRetry } from '../ledger/write-with-retry.ts'
import { fault } from './faults.ts'
import { claimKey, cleanKeys, expireKey, freeKey, type KeyName, REPLY } from './statements.ts'

type Store = Pick<Database, 'write' | 'read' | 'now'>
type Claimant = Pick<Exchange, 'id' | 'cut'>

export interface StoredResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Bytes
}

/** ms for which a response is stored, from the claim on. */
const RETENTION = 24 * 3_600_000
/** Attempts, since another request may change the row between two statements. */
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
    // Cut the requests whose claims may soon belong to another process. Reaping deletes them by a foreign key.
    const letGo = (): void => this.#cutRunning()
    membership.listen('idempotency', { onExpelled: letGo, onSuspect: letGo })
  }
  /** The stored response of the key; undefined: the key is claimed for this exchange, and must be released. */
  async claim(
    name: KeyName,
    body: string,
    exchange: Claimant,
    largest: number,
  ): Promise<StoredResponse | undefined> {
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      const now = await this.#database.now()
      const row = await this.#readOrClaim(name, body, exchange, now)
      if (row === undefined || row.request === exchange.id) return undefined
      const request = String(row.request)
      if (row.status !== null && now - Number(row.claimed) >= RETENTION) {
        await writeWithRetry(this.#database, [expireKey(request)], ADMISSION_TIMEOUT)
        continue
      }
      const kept = await this.#responseOf(row, request, body, largest)
      if (kept) return kept
    }
    throw fault('IDEMPOTENCY_IN_FLIGHT')
  }
  /** Ends the claim of an exchange. `unwritten`: the statement to write where the exchange's own group
   *  failed or its result is unknown; retried until the store confirms. */
  release(request: string, unsent?: Statement): void {
    this.#running.delete(request)
    if (!unsent) return
    this.#unwritten.set(request, unsent)
    void this.#write(request, unsent)
  }
  /** Deletes expired responses. */
  async clean(signal: AbortSignal): Promise<void> {
    const until = (await this.#database.now()) - RETENTION
    for (let more = true; more && !signal.aborted; ) {
      const [deletedRows = []] = await writeWithRetry(this.#database, [cleanKeys(until, PAGE)])
      more = deletedRows.length === PAGE
    }
  }
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#writeAll()
  }
  async #readOrClaim(
    name: KeyName,
    body: string,
    exchange: Claimant,
    claimed: number,
  ): Promise<Row | undefined> {
    const process = await this.#membership.name()
    // Before the write: if this process is expelled meanwhile, this exchange is cut too.
    this.#running.set(exchange.id, exchange)
    try {
      const claim = { ...name, request: exchange.id, process, body, claimed }
      const [, [row] = []] = await writeWithRetry(
        this.#database,
        claimKey(claim),
        ADMISSION_TIMEOUT,
      )
      if (row?.request !== exchange.id) this.#running.delete(exchange.id)
      return row
    } catch (thrown) {
      // With an unknown result the claim may exist.
      const unknown = isCode(thrown, 'STORE_UNKNOWN')
      this.release(exchange.id, unknown ? freeKey(exchange.id) : undefined)
      if (!isCode(thrown, 'IDEMPOTENCY_BURIED')) throw thrown
      this.#membership.reportExpelled(process)
      throw fault('IDEMPOTENCY_LOST')
    }
  }
  async #responseOf(
    row: Row,
    request: string,
    body: string,
    largest: number,
  ): Promise<StoredResponse | undefined> {
    if (row.body !== body) throw fault('IDEMPOTENCY_MISMATCH')
    if (row.status === null) throw fault('IDEMPOTENCY_IN_FLIGHT')
    if (!row.whole) throw fault('IDEMPOTENCY_REPLY_TOO_LARGE', [largest])
    const [found] = await this.#database.read(REPLY, [request])
    return (
      found && {
        status: Number(found.status),
        headers: JSON.parse(String(found.headers)) as Headers,
        body: found.reply as Bytes,
      }
    )
  }
  #cutRunning(): void {
    for (const exchange of [...this.#running.values()]) exchange.cut(fault('IDEMPOTENCY_LOST'))
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
      // The group was committed after all, or the claim has another owner: nothing is left to write.
      if (!isCode(error, 'IDEMPOTENCY_LOST')) {
        this.#log.warn({ request, error }, 'an Idempotency-Key could not be released yet')
        this.#timer ??= setTimeout(() => void this.#writeAll(), RETRY_INTERVAL).unref()
        return
      }
    }
    this.#unwritten.delete(request)
  }
}
