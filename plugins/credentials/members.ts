/** Members of a team. A team is an account: its members share the wallet, and keys and tokens
 *  belong to one of them, or to the account itself. */
import { errors } from '../../engine/errors.ts'
import type { Database, Exchange, Row, Sql, Statement, Value } from '../../engine/plugin.ts'
import { ROLES } from '../rows/accounts.ts'
import { ACCOUNT, type Account, type Member, type MemberRole } from '../slots.ts'
import { assignment, change, NOW_AT, set, TABLES } from './statements.ts'

/** The roles that may do each thing. `read`: the team's objects; a `member` sees calls and keys of
 *  his own only. `team`: sums and statements of the whole team. `use`: calls, files,
 *  tasks, and keys of one's own. `manage`: members, their keys, money and notifications. */
const ACCESS = {
  read: ROLES,
  team: ['owner', 'admin', 'viewer'],
  use: ['owner', 'admin', 'member'],
  manage: ['owner', 'admin'],
} as const satisfies Readonly<Record<string, readonly MemberRole[]>>
export type Access = keyof typeof ACCESS

export const fault = errors({
  MEMBER_ROLE: [403, 'This needs the role %s in the team; yours is %s'],
  MEMBER_OWNER: [403, 'Only an owner of the team may do this'],
  MEMBER_EXISTS: [409, 'The team has a member "%s" already', { param: 'name' }],
  MEMBER_UNKNOWN: [404, 'The team has no member "%s"', { param: 'member' }],
  MEMBER_CHANGED: [409, 'The member was changed at the same time; look at it and repeat'],
})
/** Throws MEMBER_ROLE unless the caller may do this. A credential of the account itself may do
 *  everything. */
export const requireAccess = ({ member }: Pick<Account, 'member'>, access: Access): void => {
  if (!member || isOneOf(access, member.role)) return
  throw fault('MEMBER_ROLE', [ACCESS[access].join(' or '), member.role])
}
/** Of the row of a credential. */
export const memberIn = ({
  member,
  member_name,
  member_role,
  member_tags,
}: Row): Pick<Account, 'member'> =>
  member == null
    ? {}
    : {
        member: {
          id: Number(member),
          name: String(member_name),
          role: member_role as MemberRole,
          ...(typeof member_tags === 'string' && { tags: member_tags }),
        },
      }
/** The calling account. Throws MEMBER_ROLE unless the role of its member allows this. */
export const accountFor = ({ slots }: Exchange, access: Access): Account => {
  const account = slots.need(ACCOUNT)
  requireAccess(account, access)
  return account
}

const isOneOf = (access: Access, role: MemberRole): boolean =>
  (ACCESS[access] as readonly string[]).includes(role)
/** The member whose own calls and keys are all that the caller sees; undefined: those of the
 *  team. */
export const onlyMember = (member: Member | undefined): number | undefined =>
  member && !isOneOf('team', member.role) ? member.id : undefined
/** The same for system tokens and sessions, which stand for a person. */
export const onlySelf = (member: Member | undefined): number | undefined =>
  member && !isOneOf('manage', member.role) ? member.id : undefined
/** Throws MEMBER_OWNER: only owners act on owners, and on what has all rights of the account. */
export const requireOwner = (member: Member | undefined, role: MemberRole | null): void => {
  if (member && member.role !== 'owner' && (role ?? 'owner') === 'owner')
    throw fault('MEMBER_OWNER')
}

// ---------------------------------------------------------------- statements

const sql = (name: string, text: string): Sql => ({ name: `members: ${name}`, text })

const perTable = (name: string, text: (table: string) => string): readonly Sql[] =>
  Object.values(TABLES).map(table => sql(`${name} ${table}`, text(table)))

const ADD = sql(
  'add',
  `INSERT INTO members (id, account, name, role, created, tags)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM members), ?, ?, ?, ?, ?) RETURNING id`,
)
const UPDATE = sql(
  'update',
  `UPDATE members SET ${set('name', 'TEXT')}, ${set('role', 'TEXT')}, ${set('tags', 'TEXT')}
   WHERE id = ? AND account = ? AND role = ? AND removed IS NULL`,
)
const REMOVE = sql(
  'remove',
  'UPDATE members SET removed = ?, name = ? WHERE id = ? AND account = ? AND role = ? AND removed IS NULL',
)
const REQUIRE = sql('require', 'UPDATE members SET name = name WHERE id = ? AND removed IS NULL')
const RESTORE = sql(
  'restore',
  'UPDATE members SET removed = NULL, name = ?, role = ? WHERE id = ? AND account = ? AND removed = ?',
)
/** The identities that ended with the member: their next tokens make new keys. */
const READMIT = sql(
  'readmit',
  `UPDATE api_keys SET digest = 'readmitted:' || CAST(id AS TEXT), change = ${NOW_AT}
   WHERE member = ? AND revoked = ? AND digest LIKE 'identity:%'`,
)
const TOUCH = perTable(
  'touch',
  table => `UPDATE ${table} SET change = ${NOW_AT} WHERE member = ? AND revoked IS NULL`,
)
const REVOKE = perTable(
  'revoke',
  table =>
    `UPDATE ${table} SET revoked = ?, change = ${NOW_AT} WHERE member = ? AND revoked IS NULL`,
)
const BELONG = {
  key: sql('key', `UPDATE api_keys SET member = ?, change = ${NOW_AT} WHERE id = ?`),
  'system-token': sql(
    'token',
    `UPDATE system_tokens SET member = ?, change = ${NOW_AT} WHERE id = ?`,
  ),
} as const
const LINK = sql(
  'link',
  `UPDATE sign_in_links SET member = (SELECT id FROM members WHERE account = ? AND name = ?)
   WHERE digest = ?`,
)
const ROWS = `SELECT m.id, m.account, m.name, m.role, m.created, m.tags, a.name AS account_name,
     (SELECT count(*) FROM api_keys k WHERE k.member = m.id AND k.revoked IS NULL) AS keys
   FROM members m JOIN accounts a ON a.id = m.account WHERE m.removed IS NULL`

/** Parameters: account, the number to start after, row count. */
export const LIST_MEMBERS = sql(
  'list',
  `${ROWS} AND m.account = ? AND m.id > ? ORDER BY m.id LIMIT ?`,
)
const FIND_MEMBER = sql(
  'find',
  `${ROWS} AND m.account = ? AND (m.name = ? OR m.id = CAST(? AS BIGINT))`,
)
/** A present member by its name alone: an identity must not pass for the member with its number. */
export const memberNamed = async (
  database: Pick<Database, 'read'>,
  account: number,
  name: string,
): Promise<Row | undefined> => (await database.read(FIND_MEMBER, [account, name, null]))[0]
/** A present member by its name or number. Throws MEMBER_UNKNOWN. */
export const findMember = async (
  database: Pick<Database, 'read'>,
  account: number,
  nameOrId: string,
): Promise<Row> => {
  const id = /^\d{1,15}$/.test(nameOrId) ? Number(nameOrId) : null
  const [row] = await database.read(FIND_MEMBER, [account, nameOrId, id])
  if (!row) throw fault('MEMBER_UNKNOWN', [nameOrId])
  return row
}
/** The number of a member, as an expression; its parameters: account and name. */
export const MEMBER_NUMBER = '(SELECT id FROM members WHERE account = ? AND name = ?)'
/** Removed ones, too. Parameter: the number of a member. */
export const MEMBER_BY_ID = sql(
  'by id',
  'SELECT id, account, name, role, removed FROM members WHERE id = ?',
)
/** A condition: the team has not removed the member. `number`: an expression. */
export const isPresent = (number: string): string =>
  `EXISTS (SELECT 1 FROM members p WHERE p.id = ${number} AND p.removed IS NULL)`
/** The member who had a name and was removed last. Parameters: account, name. */
export const REMOVED_MEMBER = sql(
  'removed',
  `SELECT id, account, role, removed FROM members WHERE account = ? AND removed IS NOT NULL
     AND name = 'removed:' || CAST(id AS TEXT) || ':' || ? ORDER BY removed DESC, id DESC LIMIT 1`,
)

const workText = (idIn: (name: 'key' | 'member') => string): string =>
  `(CASE WHEN ${idIn('key')} IS NULL THEN ${idIn('member')}
      ELSE (SELECT member FROM api_keys WHERE id = ${idIn('key')}) END)`
const MEMBER_OF_WORK = {
  sqlite: workText(name => `json_extract(slots, '$.account.${name}.id')`),
  postgres: workText(name => `CAST(CAST(slots AS json) #>> '{account,${name},id}' AS BIGINT)`),
} as const
/** A statement over work that stores the slots of its create: tasks and batches. `text` gets the
 *  member of a row, as an expression: of its key, or of the session that created it. */
export const overWork = (name: string, text: (member: string) => string): Sql => ({
  name,
  text: text(MEMBER_OF_WORK.sqlite),
  postgres: text(MEMBER_OF_WORK.postgres),
})
/** The same for queries of a caller. `text` gets a condition on the member; its parameter, twice: a
 *  member, or null for all. */
export const workOfCaller =
  (kind: 'tasks' | 'batches') =>
  (name: string, text: (condition: string) => string): Sql =>
    overWork(`${kind}: ${name}`, member => text(`(CAST(? AS BIGINT) IS NULL OR ${member} = ?)`))
/** Whether the caller sees this work. `row`: with the number of its `member`. */
export const seesWork = (row: Row, { member }: Pick<Account, 'member'>): boolean => {
  const only = onlyMember(member)
  return only === undefined || Number(row.member) === only
}
/** The values of the condition of `workOfCaller`, for those whose work the caller sees. */
export const ownWorkValues = ({ member }: Pick<Account, 'member'>): readonly [Value, Value] => {
  const only = onlyMember(member) ?? null
  return [only, only]
}

/** Who asks for an object of the account. Without a member: the account itself. */
export type Caller = Pick<Account, 'id' | 'member'>
/** Who made an object of the account: a key, or the member of a session or a system token. Neither:
 *  the account itself, or a release that did not store it. */
export type Maker = { readonly key?: number; readonly member?: number }
export const makerOf = ({ key, member }: Pick<Account, 'key' | 'member'>): Maker =>
  key ? { key: key.id } : member ? { member: member.id } : {}
export const makerIn = ({ key, member }: Row): Maker => ({
  ...(key != null && { key: Number(key) }),
  ...(member != null && { member: Number(member) }),
})
/** The account of an object, and who made it. */
export interface Owner {
  readonly account: number
  readonly maker: Maker
}
export const ownerOf = (account: Pick<Account, 'id' | 'key' | 'member'>): Owner => ({
  account: account.id,
  maker: makerOf(account),
})
/** The values of the columns `key` and `member`. */
export const makerValues = ({ key, member }: Maker): readonly [Value, Value] => [
  key ?? null,
  member ?? null,
]
/** A statement over objects of an account: of the whole team, or of those that a `member` sees. */
export interface CallerSql {
  readonly all: Sql
  readonly own: Sql
}
/** `table`: the name of rows with `account`, `key` and `member`. `make` gets a condition on the
 *  caller, whose parameters come first. A `member` sees what it made itself, and what no member
 *  made. An object of a key passes with it to another member. */
export const overMade = (table: string, make: (condition: string) => Sql): CallerSql => {
  const account = `${table}.account = ?`
  const own = make(
    `${account} AND CASE WHEN ${table}.key IS NULL THEN coalesce(${table}.member, 0)
       ELSE ${memberOfKey(`${table}.key`)} END IN (0, CAST(? AS BIGINT))`,
  )
  return { all: make(account), own: { ...own, name: `${own.name} of member` } }
}
/** Reads rows that the caller sees. `values`: the parameters behind those of the caller. Only the
 *  query of a `member` needs the tables of keys. */
export const readAs = (
  database: Pick<Database, 'read'>,
  { id, member }: Caller,
  { all, own }: CallerSql,
  values: readonly Value[],
): Promise<readonly Row[]> => {
  const only = onlyMember(member)
  return only === undefined
    ? database.read(all, [id, ...values])
    : database.read(own, [id, only, ...values])
}

/** The member of a key, as an expression on the number of the key; 0: the account itself. */
export const memberOfKey = (key: string): string =>
  `coalesce((SELECT member FROM api_keys WHERE id = ${key}), 0)`
/** Adds names and roles of members to rows whose `name` is the number of a member. */
export const withMemberNames = (rows: string, order: string): string =>
  `SELECT s.*, m.name AS member_name, m.role AS member_role, m.removed AS member_removed
   FROM (${rows}) s LEFT JOIN members m ON m.id = s.name ORDER BY ${order}`
/** The name of a member, as an expression: see `presentName`. `number`: an expression. */
export const memberName = (number: string): string =>
  `(SELECT name FROM members WHERE id = ${number})`
/** The name that a removed member had. */
export const presentName = (name: string): string => name.replace(/^removed:\d+:/, '')

/** The last statement returns the number of the member as `id`. Rejects with MEMBER_EXISTS or
 *  ACCOUNT_UNKNOWN. */
export const addMember = (
  account: number,
  { name, role, tags = null }: MemberSettings,
  now: number,
): readonly Statement[] => [
  {
    sql: ADD,
    values: [account, name, role, now, tags],
    rows: 1,
    violates: { 'members.account': 'MEMBER_EXISTS', 'FOREIGN KEY': 'ACCOUNT_UNKNOWN' },
  },
]
/** Makes a sign-in link one of the member with this name, who may be added in the same list. */
export const giveLinkToMember = (digest: string, account: number, name: string): Statement => ({
  sql: LINK,
  values: [account, name, digest],
  rows: 1,
})
/** `tags`: null has none. */
interface MemberSettings extends Pick<Member, 'name' | 'role'> {
  readonly tags?: string | null
}
interface Changed extends Pick<Member, 'id' | 'role'> {
  readonly account: number
}
/** Changes nothing. Rejects with MEMBER_CHANGED if the member was removed. */
export const requireMember = (id: number): Statement => ({
  sql: REQUIRE,
  values: [id],
  rows: 1,
  otherwise: 'MEMBER_CHANGED',
})
const forAll = (list: readonly Sql[], ...values: Value[]): readonly Statement[] =>
  list.map(each => ({ sql: each, values }))
/** `before`: the member as it was read. Undefined members stay. Rejects with MEMBER_CHANGED or
 *  MEMBER_EXISTS. */
export const updateMember = (
  { id, account, role: before }: Changed,
  { name, role, tags }: Partial<MemberSettings>,
): readonly Statement[] => [
  change,
  {
    sql: UPDATE,
    values: [...assignment(name), ...assignment(role), ...assignment(tags), id, account, before],
    rows: 1,
    otherwise: 'MEMBER_CHANGED',
    violates: { 'members.account': 'MEMBER_EXISTS' },
  },
  ...forAll(TOUCH, id),
]
/** The credentials of the member are revoked; the rows stay. Rejects with MEMBER_CHANGED. */
export const removeMember = (
  { id, account, role, name }: Changed & Pick<Member, 'name'>,
  now: number,
): readonly Statement[] => [
  change,
  {
    sql: REMOVE,
    values: [now, `removed:${id}:${name}`, id, account, role],
    rows: 1,
    otherwise: 'MEMBER_CHANGED',
  },
  ...forAll(REVOKE, now, id),
]
interface Removed extends Omit<Changed, 'role'> {
  /** ms since 1970. */
  readonly removed: number
}
/** A removed member comes back with its number and history. Its credentials stay revoked, but
 *  tokens of an identity provider make new ones. Rejects with MEMBER_CHANGED or MEMBER_EXISTS. */
export const restoreMember = (
  { id, account, removed }: Removed,
  { name, role }: MemberSettings,
): readonly Statement[] => [
  change,
  {
    sql: RESTORE,
    values: [name, role, id, account, removed],
    rows: 1,
    otherwise: 'MEMBER_CHANGED',
    violates: { 'members.account': 'MEMBER_EXISTS' },
  },
  { sql: READMIT, values: [id, removed] },
]
/** `member`: null for the account itself. The use of its quota stays with the key, and its calls
 *  until then stay those of the member who made them. */
export const giveToMember = (
  kind: keyof typeof BELONG,
  id: number,
  member: number | null,
): readonly Statement[] => [
  change,
  { sql: BELONG[kind], values: [member, id], rows: 1, otherwise: 'KEY_UNKNOWN' },
]
