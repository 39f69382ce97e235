/** Who is behind a presented secret: from memory while that is fresh, else from the store. One per process. */
import { LRUCache } from 'lru-cache'
import type { Database, Row, Value } from '../../engine/plugin.ts'
import type { Account, AccountKey } from '../slots.ts'
import { BatchedKeyLookup } from './batched-key-lookup.ts'
import type { RefusalCode } from './faults.ts'
import { digestOf, isWellFormed, type Kind } from './secret.ts'
import { CHANGED, FIND, LAST_CHANGE } from './statements.ts'

/** ms since the store was last asked what has changed: from then on it is asked beside the traffic … */
const REFRESH = 300
/** … and from then on traffic waits for it. A revoked key is dead within this, on every worker. */
const STALE = 900
/** ms for which a store that does not answer leaves everybody as they were. What is billed is refused meanwhile anyway; what is
 *  free goes on, and a key can only be revoked where the store is. */
const MAX_AGE_WITHOUT_STORE = 60_000
const MAX_ACCEPTED = 20_000
const MAX_REFUSED = 10_000

export interface Entry {
  readonly digest: string
  readonly account?: Account
  readonly refused?: RefusalCode
  /** ms since 1970. */
  readonly expires: number
}
const UNKNOWN: Omit<Entry, 'digest'> = {
  refused: 'AUTH_UNKNOWN',
  expires: Number.POSITIVE_INFINITY,
}
const MALFORMED: Entry = { ...UNKNOWN, digest: '' }

export class Credentials {
  readonly #database: Database
  readonly #now: () => number
  // By what was presented: a hit costs no hash. The plain keys are then in this process's memory, as those of the
  // requests under way are anyhow; whoever can read it can also read the traffic.
  readonly #accepted = new LRUCache<string, Entry>({ max: MAX_ACCEPTED })
  /** Guesses must not push out those who pay. */
  readonly #refused = new LRUCache<string, Entry>({ max: MAX_REFUSED })
  readonly #batches: Readonly<Record<Kind, BatchedKeyLookup>>
  #change: number | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  /** Of the last question that was answered, when it was asked. */
  #checkedAt = Number.NEGATIVE_INFINITY
  /** When it was learned that a question has no answer; none has been answered since. */
  #unavailableAt = Number.NEGATIVE_INFINITY
  #checking: Promise<void> | undefined
  /** Counts the checks that found something: what was looked up meanwhile may be older than they are. */
  #changesFound = 0

  constructor(database: Database, now: () => number = () => performance.now()) {
    this.#database = database
    this.#now = now
    const read = database.read.bind(database)
    this.#batches = {
      key: new BatchedKeyLookup(read, 'key'),
      'system-token': new BatchedKeyLookup(read, 'system-token'),
    }
  }

  /** Without asking anyone; undefined when the store must be asked. */
  cached(presented: string): Entry | undefined {
    if (this.#age() > this.#lifetime()) return undefined
    // Who waits for it will see why it failed.
    if (this.#now() - this.#askedAt > REFRESH) this.#check().catch(() => {})
    return this.#accepted.get(presented) ?? this.#refused.get(presented)
  }
  /** `suspected`: it comes from where many were not known, and goes with the crowd. */
  async find(presented: string, kind: Kind, suspected = false): Promise<Entry> {
    if (!isWellFormed(presented)) return MALFORMED
    if (this.#age() > this.#lifetime())
      await this.#check().catch(thrown => {
        if (!this.cached(presented)) throw thrown
      })
    return this.cached(presented) ?? this.#load(presented, kind, suspected)
  }

  #age(): number {
    return this.#now() - this.#checkedAt
  }
  /** ms for which what is known is good: for longer only while the store is asked, and does not answer. */
  #lifetime(): number {
    return this.#now() - this.#unavailableAt <= STALE ? MAX_AGE_WITHOUT_STORE : STALE
  }
  async #load(presented: string, kind: Kind, suspected: boolean): Promise<Entry> {
    const before = this.#changesFound
    const digest = digestOf(presented)
    const row = await (suspected ? this.#batches[kind].find(digest) : this.#row(digest, kind))
    const entry = row ? toEntry(row, digest, kind) : { ...UNKNOWN, digest }
    const cache = entry.account ? this.#accepted : this.#refused
    if (this.#changesFound === before) cache.set(presented, entry)
    return entry
  }
  async #row(digest: string, kind: Kind): Promise<Row | undefined> {
    const [row] = await this.#database.read(FIND[kind], [digest])
    return row
  }
  #check(): Promise<void> {
    this.#checking ??= this.#readChanges()
      .catch(thrown => {
        this.#unavailableAt = this.#now()
        throw thrown
      })
      .finally(() => {
        this.#checking = undefined
      })
    return this.#checking
  }
  async #readChanges(): Promise<void> {
    const startedAt = this.#now()
    this.#askedAt = startedAt
    if (this.#change === undefined) {
      const [last] = await this.#database.read(LAST_CHANGE, [])
      this.#change = Number(last?.number ?? 0)
    } else {
      const changed = await this.#database.read(CHANGED, [this.#change, this.#change])
      if (changed.length > 0) this.#forget(changed)
    }
    this.#checkedAt = startedAt
    this.#unavailableAt = Number.NEGATIVE_INFINITY
  }
  #forget(changed: readonly Row[]): void {
    this.#changesFound++
    const digests = new Set<Value | undefined>(changed.map(({ digest }) => digest))
    for (const cache of [this.#accepted, this.#refused]) {
      for (const [presented, { digest }] of cache.entries()) {
        if (digests.has(digest)) cache.delete(presented)
      }
    }
    this.#change = Math.max(...changed.map(({ change }) => Number(change)))
  }
}

const toEntry = (row: Row, digest: string, kind: Kind): Entry => {
  const expires = row.expires === null ? Number.POSITIVE_INFINITY : Number(row.expires)
  if (row.revoked !== null) return { digest, expires, refused: 'AUTH_REVOKED' }
  if (row.suspended !== null) return { digest, expires, refused: 'AUTH_SUSPENDED' }
  const account: Account = {
    id: Number(row.account),
    name: String(row.account_name),
    role: row.role === 'admin' ? 'admin' : 'customer',
    ...(kind === 'key' ? { key: toKey(row) } : { token: Number(row.id) }),
  }
  return { digest, expires, account }
}
const toKey = ({ id, name, models, limits, quota }: Row): AccountKey => ({
  id: Number(id),
  name: String(name),
  ...(typeof models === 'string' && { models: JSON.parse(models) }),
  ...(typeof limits === 'string' && { limits: JSON.parse(limits) }),
  ...(typeof quota === 'number' && { quota }),
})
