/** Calls that were refused after their charge, or while its result was unknown, as files of this
 *  machine: if the process ends before the store has confirmed the refund, another one refunds. */
import { createHash } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Database, Host, Log, Sql } from '../../../engine/plugin.ts'
import type { Payer } from '../ledger.ts'
import { walletOf } from '../wallet.ts'
import { refundStatements } from './refund-undelivered.ts'

/** ms between two searches for calls whose process has ended. */
const INTERVAL = 5_000
/** Without a lease, no charge of the process can succeed any more. */
const HAS_LEASE: Sql = {
  name: 'ledger: has lease',
  text: 'SELECT process FROM shares WHERE process = ? AND wallet = ?',
}

interface RefusedCall extends Pick<Payer, 'account' | 'key'> {
  readonly request: string
  /** The name of the process that charged it. */
  readonly process: string
}

export class RefusedCalls {
  readonly #folder: () => string
  readonly #database: Pick<Database, 'read' | 'write'>
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined

  /** `folder`: returns its absolute path; it exists then. */
  constructor(folder: () => string, database: Pick<Database, 'read' | 'write'>, log: Log) {
    this.#folder = folder
    this.#database = database
    this.#log = log
  }
  /** Refunds the calls of ended processes now and then, until `close`. */
  watch(): void {
    this.#timer = setInterval(() => void this.refundAbandoned(), INTERVAL)
    this.#timer.unref()
  }
  /** The call is on disk when this returns. */
  add({ request, process, account, key }: RefusedCall): void {
    try {
      const draft = `${this.#pathOf(request)}.draft`
      const file = openSync(draft, 'w', 0o600)
      writeSync(file, JSON.stringify({ request, process, account, key }))
      fsyncSync(file)
      closeSync(file)
      renameSync(draft, this.#pathOf(request))
    } catch (error) {
      this.#log.warn({ id: request, error }, 'a crash of this process would not refund this call')
    }
  }
  remove(request: string): void {
    rmSync(this.#pathOf(request), { force: true })
  }
  /** Refunds the calls of processes that the store has reaped. Tries again later where the store is
   *  away. */
  async refundAbandoned(): Promise<void> {
    try {
      for (const name of readdirSync(this.#folder()).filter(each => each.endsWith('.json'))) {
        const text = readFileSync(join(this.#folder(), name), 'utf8')
        await this.#refund(JSON.parse(text) as RefusedCall)
      }
    } catch (error) {
      this.#log.debug({ error }, 'refused calls of ended processes cannot be refunded yet')
    }
  }
  close(): void {
    clearInterval(this.#timer)
  }
  async #refund({ request, process, account, key }: RefusedCall): Promise<void> {
    const [lease] = await this.#database.read(HAS_LEASE, [process, walletOf.account(account)])
    if (lease) return
    const list = refundStatements(request, account, key, Date.now())
    const [, refunds = []] = await this.#database.write(list)
    if (refunds.length > 0) this.#log.info({ id: request }, 'a refused call was refunded')
    this.remove(request)
  }
  #pathOf(request: string): string {
    const hash = createHash('sha256').update(request).digest('hex').slice(0, 32)
    return join(this.#folder(), `${hash}.json`)
  }
}

export const sharedRefusedCalls = (host: Host): RefusedCalls =>
  host.share('refused calls', '1', () => {
    const calls = new RefusedCalls(() => host.folder('refused'), host.database, host.log)
    // A trial, such as `tollgate check`, must not create the folder.
    if (!host.config.isTrial) calls.watch()
    return calls
  })
