/** Looks up the credentials of suspicious networks in batches of a hundred, one read at a time, so
 *  that guesses cost the store little. A valid key from such a network is accepted after a short
 *  wait. */
import type { Database, Row } from '../../engine/plugin.ts'
import { refusal } from './faults.ts'
import type { Kind } from './secret.ts'
import { BATCH_SIZE, FIND_BATCH } from './statements.ts'

/** ms between two reads. */
const PAUSE = 50
/** The most pending lookups. The store answers them within half a second. */
const MAX_PENDING = 1_000

interface PendingLookup extends PromiseWithResolvers<Row | undefined> {
  readonly digest: string
}

export class BatchedKeyLookup {
  readonly #read: Database['read']
  readonly #kind: Kind
  #pending: PendingLookup[] = []
  #isReading = false

  constructor(read: Database['read'], kind: Kind) {
    this.#read = read
    this.#kind = kind
  }
  /** Rejects with AUTH_CROWDED when too many lookups are pending. */
  find(digest: string): Promise<Row | undefined> {
    if (this.#pending.length >= MAX_PENDING) return Promise.reject(refusal('AUTH_CROWDED'))
    const lookup = { digest, ...Promise.withResolvers<Row | undefined>() }
    this.#pending.push(lookup)
    if (!this.#isReading) void this.#readAll()
    return lookup.promise
  }
  async #readAll(): Promise<void> {
    this.#isReading = true
    while (this.#pending.length > 0) {
      await this.#readSome(this.#pending.splice(0, BATCH_SIZE))
      await new Promise(resolve => setTimeout(resolve, PAUSE))
    }
    this.#isReading = false
  }
  async #readSome(batch: readonly PendingLookup[]): Promise<void> {
    const digests = Array.from({ length: BATCH_SIZE }, (_, at) => batch[at]?.digest ?? '')
    try {
      const rows = await this.#read(FIND_BATCH[this.#kind], digests)
      const rowByDigest = new Map(rows.map(row => [row.digest, row]))
      for (const { digest, resolve } of batch) resolve(rowByDigest.get(digest))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
