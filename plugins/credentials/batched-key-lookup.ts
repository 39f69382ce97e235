/** Looks up the credentials of those who try many: a hundred with one read, one read at a time. So whatever they try costs the
 *  store the same, and a caller among them who holds a real key waits for a moment and is let in. */
import type { Database, Row } from '../../engine/plugin.ts'
import { refusal } from './faults.ts'
import type { Kind } from './secret.ts'
import { FIND_SEVERAL, SEVERAL } from './statements.ts'

/** ms between two reads. */
const PAUSE = 50
/** All that wait are read within half a second. */
const MAX_WAITING = 1_000

interface Waiting extends PromiseWithResolvers<Row | undefined> {
  readonly digest: string
}

export class BatchedKeyLookup {
  readonly #read: Database['read']
  readonly #kind: Kind
  #waiting: Waiting[] = []
  #reading = false

  constructor(read: Database['read'], kind: Kind) {
    this.#read = read
    this.#kind = kind
  }
  /** Rejects with AUTH_CROWDED where more wait than can be served soon. */
  find(digest: string): Promise<Row | undefined> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(refusal('AUTH_CROWDED'))
    const waiting = { digest, ...Promise.withResolvers<Row | undefined>() }
    this.#waiting.push(waiting)
    if (!this.#reading) void this.#readAll()
    return waiting.promise
  }
  async #readAll(): Promise<void> {
    this.#reading = true
    while (this.#waiting.length > 0) {
      await this.#readSome(this.#waiting.splice(0, SEVERAL))
      await new Promise(resolve => setTimeout(resolve, PAUSE))
    }
    this.#reading = false
  }
  async #readSome(asked: readonly Waiting[]): Promise<void> {
    const digests = Array.from({ length: SEVERAL }, (_, at) => asked[at]?.digest ?? '')
    try {
      const rows = await this.#read(FIND_SEVERAL[this.#kind], digests)
      const found = new Map(rows.map(row => [row.digest, row]))
      for (const { digest, resolve } of asked) resolve(found.get(digest))
    } catch (thrown) {
      for (const { reject } of asked) reject(thrown)
    }
  }
}
