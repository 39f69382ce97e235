/** Each identity has an API key without a secret: its calls are charged, limited and revoked like
 *  those of any key. Creates key, member and account at first use. */
import { isCode } from '../../engine/kit.ts'
import type { Database, Row } from '../../engine/plugin.ts'
import type { Credentials, Entry } from '../credentials/credentials.ts'
import { refusal } from '../credentials/faults.ts'
import { ensureAccount } from '../credentials/find.ts'
import { addMember, FIND_MEMBER } from '../credentials/members.ts'
import { TOKEN_PREFIX } from '../credentials/secret.ts'
import { addKey, FIND_ACCOUNT } from '../credentials/statements.ts'
import type { Account } from '../slots.ts'
import type { Identity } from './claims.ts'
import { fault } from './faults.ts'
import type { Section } from './section.ts'

type Rules = Pick<Section, 'create' | 'operators'>

export class IdentityKeys {
  readonly #rules: Rules
  readonly #credentials: Credentials
  readonly #database: Database
  /** With the entry of their key: a token keeps one object while the entry is unchanged. */
  readonly #accounts = new WeakMap<Identity, { readonly entry: Entry; readonly account: Account }>()

  constructor(rules: Rules, credentials: Credentials, database: Database) {
    this.#rules = rules
    this.#credentials = credentials
    this.#database = database
  }
  /** The account for the slot ACCOUNT; undefined: the caller must read the store with `find`. */
  findCached(identity: Identity): Account | undefined {
    const entry = this.#credentials.findCachedIdentity(identity.digest)
    return entry && this.#accountOf(identity, entry)
  }
  /** Rejects with AUTH_… or IDENTITY_…. */
  async find(identity: Identity): Promise<Account> {
    const { digest } = identity
    const entry = await this.#credentials.findIdentity(digest)
    if (entry.refusalCode !== 'AUTH_UNKNOWN') return this.#accountOf(identity, entry)
    await this.#create(identity)
    return this.#accountOf(identity, await this.#credentials.findIdentity(digest))
  }
  #accountOf(identity: Identity, entry: Entry): Account {
    const known = this.#accounts.get(identity)
    if (known?.entry === entry) return known.account
    if (!entry.account) throw refusal(entry.refusalCode ?? 'AUTH_UNKNOWN')
    if (entry.expires <= Date.now()) throw refusal('AUTH_EXPIRED')
    const { member } = entry.account
    const { role = member?.role } = identity
    this.#checkOperator(entry.account)
    const account = { ...entry.account, ...(member && role && { member: { ...member, role } }) }
    // The expiry of a key must be checked at each call.
    if (entry.expires === Number.POSITIVE_INFINITY) this.#accounts.set(identity, { entry, account })
    return account
  }
  #checkOperator({ role, name }: Pick<Account, 'role' | 'name'>): void {
    if (role === 'admin' && !this.#rules.operators) throw fault('IDENTITY_OPERATOR', [name])
  }
  async #create(identity: Identity): Promise<void> {
    const account = await this.#ensureAccount(identity.account)
    this.#checkOperator(account)
    const member = await this.#ensureMember(account.id, identity)
    const { digest, subject } = identity
    const secret = { text: '', digest, prefix: TOKEN_PREFIX, lastFour: subject.slice(-4) }
    const key = { account: account.id, member, name: `jwt ${subject}`.slice(0, 64), secret }
    try {
      await this.#database.write(addKey(key, await this.#database.now()))
    } catch (error) {
      // Another process created it at the same time.
      if (!isCode(error, 'SECRET_EXISTS')) throw error
    }
  }
  async #ensureAccount(name: string): Promise<Account> {
    if (this.#rules.create === 'accounts') return ensureAccount(this.#database, name)
    const [row] = await this.#database.read(FIND_ACCOUNT, [name, null])
    if (!row) throw fault('IDENTITY_UNKNOWN', ['account', name])
    return ensureAccount(this.#database, name)
  }
  async #ensureMember(account: number, { member, role }: Identity): Promise<number | undefined> {
    if (member === undefined) return undefined
    const known = await this.#findMember(account, member)
    if (known) return Number(known.id)
    if (this.#rules.create === 'nothing') throw fault('IDENTITY_UNKNOWN', ['member', member])
    try {
      const now = await this.#database.now()
      await this.#database.write(addMember(account, { name: member, role: role ?? 'member' }, now))
    } catch (error) {
      if (!isCode(error, 'MEMBER_EXISTS')) throw error
    }
    return Number((await this.#findMember(account, member))?.id)
  }
  async #findMember(account: number, name: string): Promise<Row | undefined> {
    const [row] = await this.#database.read(FIND_MEMBER, [account, name, null])
    return row
  }
}
