/** Resolves a secret to its account: from a cache while the cache is fresh, else from the store.
 *  One per process. */
import { LRUCache } from 'lru-cache'
import type { Database, Row, Value } from '../../engine/plugin.ts'
import type { Account, AccountKey } from '../slots.ts'
import { BatchedKeyLookup } from './batched-key-lookup.ts'
import { ChangeCheck } from './change-check.ts'
import type { RefusalCode } from './faults.ts'
import { memberIn } from './members.ts'
import { scopeIn } from './scopes.ts'
import { digestOf, isWellFormed, type Kind } from './secret.ts'
import { CHANGED, CHANGED_PARAMETERS, FIND, LAST_CHANGE } from './statements.ts'

/** ms after a check for changes until the next one begins in the background. */
const REFRESH = 300
/** ms after a check for changes from which requests wait for the next one. Within this time every
 *  worker refuses a revoked key. */
const STALE = 900
/** ms for which cached credentials stay valid while the store does not answer. Free calls continue
 *  then; billed calls are refused. No key can be revoked without the store. */
const MAX_AGE_WITHOUT_STORE = 60_000
const MAX_ACCEPTED = 20_000
/** ms. */
const REFUSED_IDENTITY = 1_000
const MAX_REFUSED = 10_000

export interface Entry {
  readonly digest: string
  readonly account?: Account
  readonly refusalCode?: RefusalCode
  /** ms since 1970. */
  readonly expires: number
}
const UNKNOWN: Omit<Entry, 'digest'> = {
  refusalCode: 'AUTH_UNKNOWN',
  expires: Number.POSITIVE_INFINITY,
}
const MALFORMED: Entry = { ...UNKNOWN, digest: '' }

export class Credentials {
  readonly #database: Database
  // By secret, so that a hit needs no hash. The memory of a gateway contains the secrets of running
  // requests anyway.
  readonly #accountEntries = new LRUCache<string, Entry>({ max: MAX_ACCEPTED })
  /** A separate cache, so that guesses do not evict valid keys. */
  readonly #refusedEntries = new LRUCache<string, Entry>({ max: MAX_REFUSED })
  /** Keys of identities by digest. No secret of a client has such a digest. */
  readonly #identities = new LRUCache<string, Entry>({ max: MAX_ACCEPTED })
  readonly #batches: Readonly<Record<Kind, BatchedKeyLookup>>
  #change: number | undefined
  readonly #check: ChangeCheck
  /** Counts checks that found changes. A lookup that overlaps such a check may be outdated and is
   *  not cached. */
  #changesFound = 0
  /** Whether any key has a secret of another shape. Until then such texts need no read. */
  #hasImported = false

  constructor(database: Database, now: () => number = () => performance.now()) {
    this.#database = database
    this.#check = new ChangeCheck(() => this.#readChanges(), now)
    const read = database.read.bind(database)
    this.#batches = {
      key: new BatchedKeyLookup(read, 'key'),
      'system-token': new BatchedKeyLookup(read, 'system-token'),
      session: new BatchedKeyLookup(read, 'session'),
      'sign-in-link': new BatchedKeyLookup(read, 'sign-in-link'),
    }
  }

  /** The cached entry; undefined: the caller must read the store with `find`. */
  findCached(secret: string): Entry | undefined {
    if (!this.#isValid()) return undefined
    return this.#accountEntries.get(secret) ?? this.#refusedEntries.get(secret)
  }
  /** `isSuspect`: many attempts of the caller's network failed; the lookup is batched. */
  async find(secret: string, kind: Kind, isSuspect = false): Promise<Entry> {
    const isOwn = isWellFormed(secret)
    if (!isOwn && kind !== 'key') return MALFORMED
    if (this.#isOld())
      await this.#check.run().catch(error => {
        const isMalformed = !isOwn && this.#change !== undefined && !this.#hasImported
        if (!isMalformed && !this.findCached(secret)) throw error
      })
    if (!isOwn && !this.#hasImported) return MALFORMED
    return this.findCached(secret) ?? this.#load(secret, kind, isSuspect)
  }
  /** As `findCached`, for the key of an identity, which has a digest and no secret. */
  findCachedIdentity(digest: string): Entry | undefined {
    return this.#isValid() ? this.#identities.get(digest) : undefined
  }
  async findIdentity(digest: string): Promise<Entry> {
    if (this.#isOld())
      await this.#check.run().catch(error => {
        if (!this.findCachedIdentity(digest)) throw error
      })
    const known = this.findCachedIdentity(digest)
    if (known) return known
    const before = this.#changesFound
    const row = await this.#row(digest, 'key')
    if (!row) return { ...UNKNOWN, digest }
    const entry = toEntry(row, digest, 'key')
    // A refused identity may be admitted again, which frees its digest.
    const ttl = entry.account ? {} : { ttl: REFUSED_IDENTITY }
    if (this.#changesFound === before) this.#identities.set(digest, entry, ttl)
    return entry
  }

  /** Whether the caches must not be used before a check. While the store does not answer, they may
   *  be older. */
  #isOld(): boolean {
    const { age, sinceFailure } = this.#check
    return age > (sinceFailure <= STALE ? MAX_AGE_WITHOUT_STORE : STALE)
  }
  /** Starts a check in the background in time. Requests that wait for it report its error. */
  #isValid(): boolean {
    if (this.#isOld()) return false
    if (this.#check.sinceStart > REFRESH) this.#check.run().catch(() => {})
    return true
  }
  async #load(secret: string, kind: Kind, isSuspect: boolean): Promise<Entry> {
    const before = this.#changesFound
    const digest = digestOf(secret)
    const row = await (isSuspect ? this.#batches[kind].find(digest) : this.#row(digest, kind))
    const entry = row ? toEntry(row, digest, kind) : { ...UNKNOWN, digest }
    const cache = entry.account ? this.#accountEntries : this.#refusedEntries
    if (this.#changesFound === before) cache.set(secret, entry)
    return entry
  }
  async #row(digest: string, kind: Kind): Promise<Row | undefined> {
    const [row] = await this.#database.read(FIND[kind], [digest])
    return row
  }
  async #readChanges(): Promise<void> {
    if (this.#change === undefined) {
      const [last] = await this.#database.read(LAST_CHANGE, [])
      this.#hasImported = last?.imported === 1
      this.#change = Number(last?.number ?? 0)
    } else {
      const rows = await this.#database.read(CHANGED, Array(CHANGED_PARAMETERS).fill(this.#change))
      if (rows.length > 0) this.#dropCached(rows)
    }
  }
  #dropCached(rows: readonly Row[]): void {
    this.#changesFound++
    this.#hasImported ||= rows.some(({ imported }) => imported === 1)
    const digests = new Set<Value | undefined>(rows.map(({ digest }) => digest))
    for (const cache of [this.#accountEntries, this.#refusedEntries, this.#identities]) {
      for (const [secret, { digest }] of cache.entries()) {
        if (digests.has(digest)) cache.delete(secret)
      }
    }
    this.#change = Math.max(...rows.map(({ change }) => Number(change)))
  }
}

const toEntry = (row: Row, digest: string, kind: Kind): Entry => {
  const expires = row.expires === null ? Number.POSITIVE_INFINITY : Number(row.expires)
  if (row.revoked !== null) return { digest, expires, refusalCode: 'AUTH_REVOKED' }
  if (row.suspended !== null) return { digest, expires, refusalCode: 'AUTH_SUSPENDED' }
  const account: Account = {
    id: Number(row.account),
    name: String(row.account_name),
    role: row.role === 'admin' ? 'admin' : 'customer',
    ...memberIn(row),
    ...(typeof row.account_limits === 'string' && { limits: JSON.parse(row.account_limits) }),
    ...(kind === 'key' && { key: toKey(row) }),
    ...(kind === 'system-token' && { token: Number(row.id), ...scopeIn(row.scope) }),
    ...(kind === 'session' && { session: Number(row.id) }),
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
