/** Each identity has an API key without a secret: its calls are charged, limited and revoked like
 *  those of any key. Creates key, member and account at first use. */
import { isCode } from '../../engine/kit.ts'
import type { HostBase, Statement } from '../../engine/plugin.ts'
import type { Action } from '../action-log/action.ts'
import { recordAction } from '../action-log/record.ts'
import type { Credentials, Entry } from '../credentials/credentials.ts'
import { refusal } from '../credentials/faults.ts'
import { ensureAccount } from '../credentials/find.ts'
import { addMember, memberNamed, requireMember } from '../credentials/members.ts'
import { TOKEN_PREFIX } from '../credentials/secret.ts'
import { addKey, FIND_ACCOUNT } from '../credentials/statements.ts'
import type { Account, MemberRole } from '../slots.ts'
import type { Identity } from './claims.ts'
import { fault } from './faults.ts'
import type { Section } from './section.ts'

interface Creation extends Pick<Action, 'operation' | 'object' | 'after'> {
  /** Of the token. */
  readonly subject: string
}
type Rules = Pick<Section, 'create' | 'operators'>
type Host = Pick<HostBase, 'database' | 'section' | 'folder' | 'share'>

/** The role of members that tokens without a role create. */
const FIRST_ROLE: MemberRole = 'member'

export class IdentityKeys {
  readonly #rules: Rules
  readonly #credentials: Credentials
  readonly #host: Host
  /** With the entry of their key: a token keeps one object while the entry is unchanged. */
  readonly #accounts = new WeakMap<Identity, { readonly entry: Entry; readonly account: Account }>()

  constructor(rules: Rules, credentials: Credentials, host: Host) {
    this.#rules = rules
    this.#credentials = credentials
    this.#host = host
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
    const account = await this.#ensureAccount(identity)
    this.#checkOperator(account)
    const member = await this.#ensureMember(account.id, identity)
    const { digest, subject } = identity
    const secret = { text: '', digest, prefix: TOKEN_PREFIX, lastFour: subject.slice(-4) }
    const name = `jwt ${subject}`.slice(0, 64)
    const key = { account: account.id, member, name, secret }
    const list = [
      // The member may have been removed since the lookup.
      ...(member === undefined ? [] : [requireMember(member)]),
      ...addKey(key, await this.#host.database.now()),
    ]
    await this.#createOnce('SECRET_EXISTS', list, {
      operation: 'keys create',
      object: `API key of account ${account.id}`,
      after: { name, member: member ?? null, digest },
      subject,
    }).catch(error => {
      throw isCode(error, 'MEMBER_CHANGED') ? refusal('AUTH_REVOKED') : error
    })
  }
  async #ensureAccount({ account: name, subject }: Identity): Promise<Account> {
    const { database } = this.#host
    const [row] = await database.read(FIND_ACCOUNT, [name, null])
    if (!row && this.#rules.create !== 'accounts')
      throw fault('IDENTITY_UNKNOWN', ['account', name])
    return ensureAccount(database, name, list =>
      this.#record(list, {
        operation: 'accounts create',
        object: `account ${name}`,
        after: { name, role: 'customer' },
        subject,
      }),
    )
  }
  async #ensureMember(
    account: number,
    { member, role = FIRST_ROLE, subject }: Identity,
  ): Promise<number | undefined> {
    if (member === undefined) return undefined
    const { database } = this.#host
    const known = await memberNamed(database, account, member)
    if (known) return Number(known.id)
    if (this.#rules.create === 'nothing') throw fault('IDENTITY_UNKNOWN', ['member', member])
    const added = { name: member, role }
    const list = addMember(account, added, await database.now())
    await this.#createOnce('MEMBER_EXISTS', list, {
      operation: 'members invite',
      object: `member of account ${account}`,
      after: added,
      subject,
    })
    return Number((await memberNamed(database, account, member))?.id)
  }
  /** `code`: of the error that says that another process created it at the same time. */
  async #createOnce(code: string, list: readonly Statement[], creation: Creation): Promise<void> {
    try {
      await this.#record(list, creation)
    } catch (error) {
      if (!isCode(error, code)) throw error
    }
  }
  #record(list: readonly Statement[], { subject, ...change }: Creation): Promise<unknown> {
    const actor = { via: 'gateway', name: `jwt ${subject}` } as const
    return recordAction(this.#host, list, { ...change, before: null, actor })
  }
}
