/** Claims keys, finds what was answered to them, frees them. One per process, shared by its routes. */
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
import { ADMISSION_TIMEOUT, writeSurely } from '../ledger/surely.ts'
import { fault } from './faults.ts'
import { claimKey, cleanKeys, expireKey, freeKey, type KeyName, REPLY } from './statements.ts'

type Store = Pick<Database, 'write' | 'read' | 'now'>
type Claimant = Pick<Exchange, 'id' | 'cut'>

export interface StoredResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Bytes
}

/** ms that a reply is kept, from the claim on. */
const RETENTION = 24 * 3_600_000
/** Whoever finds the row changed under his hands looks again. */
const ATTEMPTS = 5
/** ms until what the store could not be told is tried again. */
const RETRY_INTERVAL = 1_000
/** Rows in one transaction of the cleaning. */
const PAGE = 500

export class Claims {
  readonly #database: Store
  readonly #log: Log
  readonly #membership: Membership
  readonly #running = new Map<string, Claimant>()
  /** What became of a key, where the store could not be told yet. */
  readonly #unwritten = new Map<string, Statement>()
  #timer: NodeJS.Timeout | undefined

  constructor(database: Store, log: Log, membership: Membership) {
    this.#database = database
    this.#log = log
    this.#membership = membership
    // Where another may soon have its claims it lets go of them. A burial takes them along by a foreign key.
    const letGo = (): void => this.#cutRunning()
    membership.listen('idempotency', { onExpelled: letGo, onSuspect: letGo })
  }
  /** What was answered to this key; undefined: it is claimed for this exchange, which must be `ended`. */
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
        await writeSurely(this.#database, [expireKey(request)], ADMISSION_TIMEOUT)
        continue
      }
      const kept = await this.#responseOf(row, request, body, largest)
      if (kept) return kept
    }
    throw fault('IDEMPOTENCY_IN_FLIGHT')
  }
  /** `untold`: what became of its key, where the exchange's own group was not committed, or nobody knows. It is tried
   *  until the store has an answer. */
  release(request: string, untold?: Statement): void {
    this.#running.delete(request)
    if (!untold) return
    this.#unwritten.set(request, untold)
    void this.#write(request, untold)
  }
  /** Forgets replies that are too old to be given again. */
  async clean(signal: AbortSignal): Promise<void> {
    const until = (await this.#database.now()) - RETENTION
    for (let more = true; more && !signal.aborted; ) {
      const [gone = []] = await writeSurely(this.#database, [cleanKeys(until, PAGE)])
      more = gone.length === PAGE
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
    // Before the answer: if the claim is lost on its way, this exchange is one of those that are cut.
    this.#running.set(exchange.id, exchange)
    try {
      const claim = { ...name, request: exchange.id, process, body, claimed }
      const [, [row] = []] = await writeSurely(this.#database, claimKey(claim), ADMISSION_TIMEOUT)
      if (row?.request !== exchange.id) this.#running.delete(exchange.id)
      return row
    } catch (thrown) {
      // Where the store's answer is lost nobody knows whether the claim stands.
      const unknown = isCode(thrown, 'STORE_UNKNOWN')
      this.release(exchange.id, unknown ? freeKey(exchange.id) : undefined)
      if (!isCode(thrown, 'IDEMPOTENCY_BURIED')) throw thrown
      this.#membership.expelled(process)
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
      await writeSurely(this.#database, [statement])
    } catch (error) {
      // Its group came through after all, or the claim is no longer its own: either way there is nothing to tell.
      if (!isCode(error, 'IDEMPOTENCY_LOST')) {
        this.#log.warn({ request, error }, 'the store could not be told of an Idempotency-Key yet')
        this.#timer ??= setTimeout(() => void this.#writeAll(), RETRY_INTERVAL).unref()
        return
      }
    }
    this.#unwritten.delete(request)
  }
}
