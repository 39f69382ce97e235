/** Resolves a secret to its account: from a cache while that is fresh, else from the store. One per process. */
import { LRUCache } from 'lru-cache'
import type { Database, Row, Value } from '../../engine/plugin.ts'
import type { Account, AccountKey } from '../slots.ts'
import { BatchedKeyLookup } from './batched-key-lookup.ts'
import type { RefusalCode } from './faults.ts'
import { digestOf, isWellFormed, type Kind } from './secret.ts'
import { CHANGED, FIND, LAST_CHANGE } from './statements.ts'

/** ms after the last check for changes from which the store is asked again in the background … */
const REFRESH = 300
/** … and ms from which requests wait for the check. A revoked key is refused within this time, on every worker. */
const STALE = 900
/** ms for which cached credentials stay valid while the store does not answer. Billed calls are refused
 *  meanwhile anyway; free ones continue, and a key can only be revoked through the store. */
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
  // By secret: a hit needs no hash. The plain keys are then in memory, like those of running requests:
  // a reader of this memory can read the traffic too.
  readonly #accepted = new LRUCache<string, Entry>({ max: MAX_ACCEPTED })
  /** A cache of its own, so that guesses do not evict valid keys. */
  readonly #refused = new LRUCache<string, Entry>({ max: MAX_REFUSED })
  readonly #batches: Readonly<Record<Kind, BatchedKeyLookup>>
  #change: number | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  /** The start of the last successful check. */
  #checkedAt = Number.NEGATIVE_INFINITY
  /** The end of the last failed check; -Infinity after a successful one. */
  #unavailableAt = Number.NEGATIVE_INFINITY
  #checking: Promise<void> | undefined
  /** Counts checks that found changes: a lookup that overlaps with one may be outdated and is not cached. */
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

  /** The cached entry; undefined: ask the store with `find`. */
  cached(presented: string): Entry | undefined {
    if (this.#age() > this.#lifetime()) return undefined
    // A request that waits for the check gets its error.
    if (this.#now() - this.#askedAt > REFRESH) this.#check().catch(() => {})
    return this.#accepted.get(presented) ?? this.#refused.get(presented)
  }
  /** `suspected`: many attempts of the caller's network failed; the lookup is batched. */
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
  /** ms for which the cache is valid: longer only while the store does not answer. */
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
