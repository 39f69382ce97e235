/** The membership of a user: in which team, by which name and with which role. It follows from the
 *  user, its groups and the section `scim:`. */
import type { Database, Row, Statement } from '../../engine/plugin.ts'
import type { Action } from '../action-log/action.ts'
import { ensureAccount } from '../credentials/find.ts'
import {
  addMember,
  MEMBER_BY_ID,
  memberNamed,
  REMOVED_MEMBER,
  removeMember,
  restoreMember,
  updateMember,
} from '../credentials/members.ts'
import { FIND_ACCOUNT } from '../credentials/statements.ts'
import { isMemberName } from '../identity-provider/claims.ts'
import type { Provisioning } from '../identity-provider/provisioning.ts'
import { ROLES } from '../rows/accounts.ts'
import { itemsAt, type Resource, textAt } from '../scim-protocol/attributes.ts'
import { fault } from '../scim-protocol/faults.ts'
import type { Member, MemberRole } from '../slots.ts'
import { linkToMember, USERS_OF_MEMBER, unlinkMember } from './tables.ts'

export interface User {
  readonly id: number
  readonly resource: Resource
  /** The number of the member that the user is or was; null: none. */
  readonly member: number | null
}
export interface Place extends Pick<Member, 'name' | 'role'> {
  /** Its name. */
  readonly account: string
}
interface Store {
  readonly database: Database
  readonly rules: Provisioning
  /** Writes an action with its row in the log. */
  record(list: readonly Statement[], action: Omit<Action, 'actor'>): Promise<unknown>
}
interface Stored {
  readonly id: number
  readonly account: number
  readonly name: string
  readonly role: MemberRole
  /** ms since 1970. */
  readonly removed: number | null
}
/** The place of a user at the moment; undefined: it is a member of no team. */
export const currentPlace = async (
  database: Pick<Database, 'read'>,
  { member }: User,
): Promise<Place | undefined> => {
  const stored = await memberOf(database, member)
  if (stored?.removed !== null) return undefined
  const [account] = await database.read(FIND_ACCOUNT, ['', stored.account])
  return { account: String(account?.name ?? ''), name: stored.name, role: stored.role }
}
const storedIn = (row: Row | undefined): Stored | undefined =>
  row && {
    id: Number(row.id),
    account: Number(row.account),
    name: String(row.name ?? ''),
    role: row.role as MemberRole,
    removed: row.removed == null ? null : Number(row.removed),
  }
export const memberOf = async (
  database: Pick<Database, 'read'>,
  member: number | null,
): Promise<Stored | undefined> =>
  member === null ? undefined : storedIn((await database.read(MEMBER_BY_ID, [member]))[0])

const nameOf = (resource: Resource, attribute: Provisioning['member']): string => {
  const emails = itemsAt(resource, 'emails')
  const email = emails.find(each => each.primary === true) ?? emails[0]
  const name = attribute === 'email' ? String(email?.value ?? '') : textAt(resource, attribute)
  if (name !== undefined && isMemberName(name)) return name
  throw fault('SCIM_VALUE', [
    `${attribute} names the member: it must have 1 to 64 letters, digits and . _ @ + | / -, and be no short number`,
  ])
}
const own = <T>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

/** Undefined: the user is a member of no team. `groups`: the names of its groups. */
export const placeOf = (
  { member, account: other, accounts = {}, roles = {}, role }: Provisioning,
  resource: Resource,
  groups: readonly string[],
): Place | undefined => {
  if (resource.active === false) return undefined
  const group = Object.keys(accounts).find(each => groups.includes(each))
  const account = group === undefined ? other : accounts[group]
  if (account === undefined) return undefined
  const mapped = new Set(groups.map(each => own(roles, each)))
  const highest = ROLES.find(each => mapped.has(each)) ?? role
  return { account, name: nameOf(resource, member), role: highest }
}

/** The statements that give the user its place. Throws SCIM_…. */
export const membershipStatements = async (
  store: Store,
  user: User,
  place: Place | undefined,
  now: number,
): Promise<readonly Statement[]> => {
  const { database, rules } = store
  const stored = await memberOf(database, user.member)
  const present = stored?.removed === null ? stored : undefined
  const leave = present ? removeMember(present, now) : []
  if (!place) {
    // An inactive user stays linked, to come back under another name, too.
    const isUnmapped = user.resource.active !== false && user.member !== null
    return [...leave, ...(isUnmapped ? [unlinkMember(user.id)] : [])]
  }
  const { name } = place
  const account = await accountNumber(store, place.account)
  const known = storedIn(await memberNamed(database, account, name))
  if (known && known.id !== present?.id) await refuseOthers(database, user, known, name)
  if (present?.account === account) {
    if (known && known.id !== present.id) throw fault('SCIM_EXISTS', ['member', 'name', name])
    return changesOf(rules, present, place)
  }
  const link = linkToMember(user.id, account, name)
  if (known) return [...leave, ...changesOf(rules, known, place), link]
  const removed = await removedMember(database, user, stored, { account, name })
  // A new user with the name of an earlier member gets its number, not its rights.
  const isReturning = removed !== undefined && removed.id === stored?.id
  const role = isReturning && !rules.roles ? removed.role : place.role
  const enter = removed
    ? restoreMember({ ...removed, account }, { name, role })
    : addMember(account, { name, role }, now)
  return [...leave, ...enter, link]
}
/** Without `roles:` the team decides about roles. */
const changesOf = (
  { roles }: Provisioning,
  member: Stored,
  { name, role }: Place,
): readonly Statement[] => {
  const next = { name, role: roles ? role : member.role }
  return next.name === member.name && next.role === member.role ? [] : updateMember(member, next)
}
const refuseOthers = async (
  database: Pick<Database, 'read'>,
  { id }: User,
  known: Stored,
  name: string,
): Promise<void> => {
  const users = await database.read(USERS_OF_MEMBER, [known.id])
  if (users.some(each => Number(each.id) !== id))
    throw fault('SCIM_EXISTS', ['user', 'name of the member', name])
}
/** The member that the user was in this account. */
const removedMember = async (
  database: Pick<Database, 'read'>,
  user: User,
  stored: Stored | undefined,
  { account, name }: { readonly account: number; readonly name: string },
) => {
  if (stored?.account === account && stored.removed !== null)
    return { ...stored, removed: stored.removed }
  const [row] = await database.read(REMOVED_MEMBER, [account, name])
  const earlier = storedIn(row)
  if (earlier?.removed == null) return undefined
  const users = await database.read(USERS_OF_MEMBER, [earlier.id])
  const isOfOther = users.some(each => Number(each.id) !== user.id)
  return isOfOther ? undefined : { ...earlier, removed: earlier.removed }
}
const accountNumber = async (store: Store, name: string): Promise<number> => {
  const { database, rules } = store
  const [known] = await database.read(FIND_ACCOUNT, [name, null])
  const row =
    known ??
    (await ensureAccount(database, name, list =>
      store.record(list, {
        operation: 'accounts create',
        object: `account ${name}`,
        before: null,
        after: { name, role: 'customer' },
      }),
    ))
  if (row.role === 'admin' && !rules.operators) throw fault('SCIM_OPERATOR', [name])
  return Number(row.id)
}
