/** The statements of accounts and their credentials: keys, system tokens, sessions, sign-in links.
 *  Pure: callers combine them in one list. */
import type { Sql, Statement, Value } from '../../engine/plugin.ts'
import type { Account, AccountKey, OwnLimits, TokenScope } from '../slots.ts'
import type { Quota, QuotaPeriod } from './quota.ts'
import type { Kind, Secret } from './secret.ts'

export const TABLES: Readonly<Record<Kind, string>> = {
  key: 'api_keys',
  'system-token': 'system_tokens',
  session: 'sessions',
  'sign-in-link': 'sign_in_links',
}
/** The number of the present change, which `change` has taken. */
export const NOW_AT = '(SELECT number FROM credential_changes WHERE id = 1)'
const sql = (name: string, text: string): Sql => ({ name: `accounts: ${name}`, text })
const perKind = (make: (kind: Kind) => Sql): Readonly<Record<Kind, Sql>> => ({
  key: make('key'),
  'system-token': make('system-token'),
  session: make('session'),
  'sign-in-link': make('sign-in-link'),
})

const CHANGE = sql('change', 'UPDATE credential_changes SET number = number + 1 WHERE id = 1')
const CREATE = sql(
  'create',
  `INSERT INTO accounts (id, name, role, created)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM accounts), ?, ?, ?) RETURNING id`,
)
const CREATE_FIRST = sql(
  'create first',
  `INSERT INTO accounts (id, name, role, created)
   SELECT 1, 'admin', 'admin', CAST(? AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM accounts)`,
)
const ADD_KEY = sql(
  'add key',
  `INSERT INTO api_keys (id, account, name, digest, prefix, last_four, created, expires, models, limits,
     quota, quota_period, period_quota, period_start, imported, member, change)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM api_keys), ?, ?, ?, ?, ?, ?, ?, ?, ?,
     ?, ?, ?, ?, ?, ?, ${NOW_AT}) RETURNING id`,
)
/** Credentials without limits. */
const ADD = perKind(kind =>
  sql(
    kind === 'system-token' ? 'add token' : `add ${kind}`,
    `INSERT INTO ${TABLES[kind]} (id, account, name, digest, prefix, last_four, created, expires, member, ${kind === 'system-token' ? 'scope, ' : ''}change)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM ${TABLES[kind]}), ?, ?, ?, ?, ?, ?, ?, ?, ${kind === 'system-token' ? '?, ' : ''}${NOW_AT}) RETURNING id`,
  ),
)
const SET_TOKEN = sql('set token', 'UPDATE sessions SET token = ? WHERE digest = ?')
const END_SESSIONS = sql(
  'end sessions',
  `UPDATE sessions SET revoked = ?, change = ${NOW_AT} WHERE token = ? AND revoked IS NULL`,
)
const BOUND_SESSIONS = sql(
  'bound sessions',
  `UPDATE sessions SET expires = ?, change = ${NOW_AT}
   WHERE token = ? AND revoked IS NULL AND (expires IS NULL OR expires > ?)`,
)
const END_OF_IDENTITY = sql(
  'end sessions of identity',
  `UPDATE sessions SET revoked = ?, change = ${NOW_AT} WHERE identity = ? AND revoked IS NULL`,
)
const REMOVE_OLD = sql(
  'remove old sessions',
  'DELETE FROM sessions WHERE account = ? AND expires < ?',
)
const REVOKE = perKind(kind =>
  sql(
    `revoke ${kind}`,
    `UPDATE ${TABLES[kind]} SET revoked = ?, change = ${NOW_AT} WHERE id = ? AND revoked IS NULL`,
  ),
)
const FREED_DIGEST = 'readmitted:'
const READMIT = sql(
  'readmit',
  `UPDATE api_keys SET digest = ?, change = ${NOW_AT}
   WHERE id = ? AND revoked IS NOT NULL AND digest LIKE 'identity:%'`,
)
const OWN = 'WHERE id = ? AND account = ? AND revoked IS NULL'
/** Assigns the two parameters of `assignment`. */
export const set = (column: string, type: 'TEXT' | 'BIGINT'): string =>
  `${column} = CASE WHEN CAST(? AS BIGINT) = 1 THEN CAST(? AS ${type}) ELSE ${column} END`
const NAMED = `${set('name', 'TEXT')}, ${set('expires', 'BIGINT')}`
const LIMITED = `${set('models', 'TEXT')}, ${set('limits', 'TEXT')}`
const QUOTA =
  'quota = CAST(? AS BIGINT), quota_period = ?, period_quota = CAST(? AS BIGINT), period_start = CAST(? AS BIGINT)'
const SET_QUOTA = sql(
  'set quota',
  `UPDATE api_keys SET ${QUOTA}, change = ${NOW_AT} WHERE id = ? AND revoked IS NULL`,
)
const RENEW_QUOTA = sql(
  'renew quota',
  `UPDATE api_keys SET quota = CAST(? AS BIGINT), period_start = CAST(? AS BIGINT), change = ${NOW_AT}
   WHERE id = ? AND quota_period = ? AND period_quota = CAST(? AS BIGINT) AND period_start < CAST(? AS BIGINT)
     AND revoked IS NULL`,
)
const CHANGE_CREDENTIAL: Readonly<Record<Kind, Sql>> = {
  ...perKind(kind =>
    sql(
      kind === 'system-token' ? 'change token' : `change ${kind}`,
      `UPDATE ${TABLES[kind]} SET ${NAMED}, change = ${NOW_AT} ${OWN}`,
    ),
  ),
  key: sql('change key', `UPDATE api_keys SET ${NAMED}, ${LIMITED}, change = ${NOW_AT} ${OWN}`),
}
const RENAME = sql('rename', 'UPDATE accounts SET name = ? WHERE id = ?')
const REVOKE_ALL = perKind(kind =>
  sql(
    `revoke all ${kind}`,
    `UPDATE ${TABLES[kind]} SET revoked = ?, change = ${NOW_AT} WHERE account = ? AND revoked IS NULL`,
  ),
)
const REPLACE_SECRET = perKind(kind =>
  sql(
    `replace ${kind}`,
    `UPDATE ${TABLES[kind]} SET digest = ?, prefix = ?, last_four = ?, change = ${NOW_AT}
     WHERE id = ? AND digest = ? AND revoked IS NULL`,
  ),
)
/** The credentials that a person or a program keeps. */
export type Rotated = 'key' | 'system-token'
/** Matches no row, and so rejects, for the digest of an earlier secret. */
const REQUIRE_UNUSED_SECRET = sql(
  'require unused secret',
  `UPDATE credential_changes SET number = number
   WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM earlier_secrets WHERE digest = ?)`,
)
const KEEP_SECRET = sql(
  'keep secret',
  `INSERT INTO earlier_secrets (digest, kind, credential, until, change)
   VALUES (?, ?, ?, ?, ${NOW_AT})`,
)
const END_SECRETS = sql(
  'end secrets',
  `UPDATE earlier_secrets SET until = ?, change = ${NOW_AT}
   WHERE kind = ? AND credential = ? AND until > ?`,
)
const requireText = (table: string): string =>
  `UPDATE ${table} SET limits = limits WHERE id = ? AND coalesce(limits, '') = coalesce(CAST(? AS TEXT), '')`
const SUSPEND = sql('suspend', 'UPDATE accounts SET suspended = ? WHERE id = ?')
const LIMIT = sql('limit', 'UPDATE accounts SET limits = ? WHERE id = ?')
const REQUIRE_LIMITS = {
  accounts: sql('require limits of account', requireText('accounts')),
  api_keys: sql('require limits of key', requireText('api_keys')),
} as const
const TOUCH = perKind(kind =>
  sql(`touch ${kind}`, `UPDATE ${TABLES[kind]} SET change = ${NOW_AT} WHERE account = ?`),
)

/** The first statement of each list that changes a credential. It locks the counter, so that change
 *  numbers become visible in order. */
export const change: Statement = { sql: CHANGE, values: [], rows: 1 }

/** Returns `id`. Rejects with ACCOUNT_EXISTS. */
export const createAccount = (
  account: Pick<Account, 'name' | 'role'>,
  now: number,
): readonly Statement[] => [
  change,
  {
    sql: CREATE,
    values: [account.name, account.role, now],
    rows: 1,
    violates: { 'accounts.name': 'ACCOUNT_EXISTS' },
  },
]
/** Creates account 1 in a store without accounts. Rejects with ACCOUNT_EXISTS. */
export const createFirstAccount = (now: number): readonly Statement[] => [
  change,
  { sql: CREATE_FIRST, values: [now], rows: 1, otherwise: 'ACCOUNT_EXISTS' },
]

const quotaValues = ({ total, period }: Quota): readonly Value[] => [
  total,
  period?.name ?? null,
  period?.units ?? null,
  period?.start ?? null,
]
/** Replaces the quota of a key. Rejects with KEY_UNKNOWN when no unrevoked key has this number. */
export const setQuota = (key: number, quota: Quota): readonly Statement[] => [
  change,
  {
    sql: SET_QUOTA,
    values: [...quotaValues(quota), key],
    rows: 1,
    otherwise: 'KEY_UNKNOWN',
  },
]
/** Begins a period. Rejects with KEY_UNKNOWN when the key has begun it, or has another quota. */
export const renewQuota = (
  key: number,
  total: number,
  { name, units, start }: QuotaPeriod,
): readonly Statement[] => [
  change,
  {
    sql: RENEW_QUOTA,
    values: [total, start, key, name, units, start],
    rows: 1,
    otherwise: 'KEY_UNKNOWN',
  },
]

export interface NewCredential extends Pick<AccountKey, 'name' | 'models' | 'limits'> {
  readonly account: number
  /** The number of the member that it is for. */
  readonly member?: number | undefined
  readonly quota?: Quota | undefined
  /** Of a system token; undefined: it may do everything. */
  readonly scope?: TokenScope | 'all' | undefined
  readonly secret: Secret
  /** Whether the secret was made elsewhere; of API keys only. */
  readonly isImported?: boolean | undefined
  /** ms since 1970. */
  readonly expires?: number | undefined
}
/** Returns `id`. Rejects with ACCOUNT_UNKNOWN, or SECRET_EXISTS for an imported secret that another
 *  key has or had. */
export const addKey = (key: NewCredential, now: number): readonly Statement[] => [
  change,
  ...(key.isImported
    ? [
        {
          sql: REQUIRE_UNUSED_SECRET,
          values: [key.secret.digest],
          rows: 1,
          otherwise: 'SECRET_EXISTS',
        },
      ]
    : []),
  {
    sql: ADD_KEY,
    values: [
      ...sharedOf(key, now),
      key.models ? JSON.stringify(key.models) : null,
      key.limits ? JSON.stringify(key.limits) : null,
      ...quotaValues(key.quota ?? { total: null, period: null }),
      key.isImported ? 1 : null,
      key.member ?? null,
    ],
    rows: 1,
    violates: { 'FOREIGN KEY': 'ACCOUNT_UNKNOWN', 'api_keys.digest': 'SECRET_EXISTS' },
  },
]
const scopeOf = ({ scope = 'all' }: NewCredential): string | null =>
  scope === 'all' ? null : scope
const addOf =
  (kind: Kind) =>
  (credential: NewCredential, now: number): readonly Statement[] => [
    change,
    {
      sql: ADD[kind],
      values: [
        ...sharedOf(credential, now),
        credential.member ?? null,
        ...(kind === 'system-token' ? [scopeOf(credential)] : []),
      ],
      rows: 1,
      violates: { 'FOREIGN KEY': 'ACCOUNT_UNKNOWN' },
    },
  ]
/** Like `addKey`; the others have no limits. */
export const addToken = addOf('system-token')
export const addLink = addOf('sign-in-link')

/** How long ended sessions stay in the store, ms. */
const KEEP_ENDED = 30 * 86_400_000
/** `token`: the system token that signed in; its sessions end with it. Also removes old sessions of
 *  the account. */
export const addSession = (
  session: NewCredential,
  token: number | undefined,
  now: number,
): readonly Statement[] => [
  ...addOf('session')(session, now),
  { sql: SET_TOKEN, values: [token ?? null, session.secret.digest] },
  { sql: REMOVE_OLD, values: [session.account, now - KEEP_ENDED] },
]
const sharedOf = ({ account, name, secret, expires }: NewCredential, now: number) => [
  account,
  name,
  secret.digest,
  secret.prefix,
  secret.lastFour,
  now,
  expires ?? null,
]

/** Undefined members stay unchanged. A system token has only a name and an expiry. */
export interface CredentialChanges {
  readonly name?: string | undefined
  readonly expires?: number | null | undefined
  readonly models?: AccountKey['models'] | null | undefined
  readonly limits?: AccountKey['limits'] | null | undefined
}
/** Rejects with KEY_UNKNOWN when the account has no such unrevoked credential. */
export const changeCredential = (
  kind: Kind,
  id: number,
  account: number,
  { name, expires, models, limits }: CredentialChanges,
): readonly Statement[] => {
  const shared = [...assignment(name), ...assignment(expires)]
  const keyOnly = [...assignment(asJson(models)), ...assignment(asJson(limits))]
  const values = [...shared, ...(kind === 'key' ? keyOnly : []), id, account]
  return [change, { sql: CHANGE_CREDENTIAL[kind], values, rows: 1, otherwise: 'KEY_UNKNOWN' }]
}
/** The two parameters of a column; `undefined` leaves it unchanged. */
export const assignment = (value: Value | undefined): readonly Value[] =>
  value === undefined ? [0, null] : [1, value]
const asJson = (value: unknown): string | null | undefined =>
  value === undefined || value === null ? value : JSON.stringify(value)

/** Rejects with KEY_UNKNOWN when no unrevoked credential has this number. */
export const revoke = (kind: Kind, id: number, now: number): readonly Statement[] => [
  change,
  { sql: REVOKE[kind], values: [now, id], rows: 1, otherwise: 'KEY_UNKNOWN' },
  ...(kind === 'system-token' ? [{ sql: END_SESSIONS, values: [now, id] }] : []),
  ...(kind === 'key' ? [{ sql: END_OF_IDENTITY, values: [now, id] }] : []),
]
/** Frees the digest of the revoked key of an identity: its next token makes a new key. Rejects with
 *  KEY_UNKNOWN if no revoked key of an identity has this number. */
export const readmitIdentity = (id: number): readonly Statement[] => [
  change,
  { sql: READMIT, values: [`${FREED_DIGEST}${id}`, id], rows: 1, otherwise: 'KEY_UNKNOWN' },
]
/** `since`: ms, or null to resume. Marks all credentials of the account as changed, so that every
 *  process reads them again. */
export const suspendAccount = (id: number, since: number | null): readonly Statement[] =>
  changeAccount({ sql: SUSPEND, values: [since, id] }, id)
/** `limits`: null to remove them. */
export const limitAccount = (id: number, limits: OwnLimits | null): readonly Statement[] =>
  changeAccount({ sql: LIMIT, values: [limits && JSON.stringify(limits), id] }, id)

/** Rejects with LIMITS_CHANGED unless the stored limits are this text; null: none. Before a change
 *  in one list. */
export const requireLimits = (
  table: keyof typeof REQUIRE_LIMITS,
  id: number,
  limits: Value | undefined,
): readonly Statement[] => [
  change,
  {
    sql: REQUIRE_LIMITS[table],
    values: [id, limits ?? null],
    rows: 1,
    otherwise: 'LIMITS_CHANGED',
  },
]

const changeAccount = (statement: Statement, id: number): readonly Statement[] => [
  change,
  { ...statement, rows: 1, otherwise: 'ACCOUNT_UNKNOWN' },
  { sql: TOUCH.key, values: [id] },
  { sql: TOUCH['system-token'], values: [id] },
  { sql: TOUCH.session, values: [id] },
]

/** Marks all credentials as changed, since processes keep the name with them. Rejects with
 *  ACCOUNT_EXISTS or ACCOUNT_UNKNOWN. */
export const renameAccount = (id: number, name: string): readonly Statement[] => [
  change,
  {
    sql: RENAME,
    values: [name, id],
    rows: 1,
    otherwise: 'ACCOUNT_UNKNOWN',
    violates: { 'accounts.name': 'ACCOUNT_EXISTS' },
  },
  { sql: TOUCH.key, values: [id] },
  { sql: TOUCH['system-token'], values: [id] },
  { sql: TOUCH.session, values: [id] },
]
/** Whether an account of this name was deleted. Operators cannot give a name with a colon. */
export const isDeletedName = (name: string): boolean => /^deleted:\d+:/.test(name)
/** The condition for accounts that were not deleted; `a`: the table of accounts. */
export const NOT_DELETED = "a.name NOT LIKE 'deleted:%'"
/** The accounts that may not spend: those that were deleted are among them. */
export const SUSPENDED_ACCOUNTS = 'SELECT id FROM accounts WHERE suspended IS NOT NULL'
/** Revokes all credentials of an account, suspends it and frees its name. Its rows stay: the ledger
 *  refers to its number, which no later account may get. */
export const deleteAccount = (id: number, name: string, now: number): readonly Statement[] => [
  ...renameAccount(id, `deleted:${id}:${name}`),
  { sql: SUSPEND, values: [now, id], rows: 1, otherwise: 'ACCOUNT_UNKNOWN' },
  { sql: REVOKE_ALL.key, values: [now, id] },
  { sql: REVOKE_ALL['system-token'], values: [now, id] },
  { sql: REVOKE_ALL.session, values: [now, id] },
  { sql: REVOKE_ALL['sign-in-link'], values: [now, id] },
]

/** Gives a credential another secret: its number, limits and use stay. `until`: how long the
 *  earlier secret is one of the same credential, ms since 1970; undefined: it ends at once, and so
 *  do those before it. Its digest stays, so that no import brings it back. Sessions that a system
 *  token began end with that secret. Rejects with KEY_UNKNOWN when another process has changed the
 *  secret or revoked it. */
export const replaceSecret = (
  kind: Rotated,
  id: number,
  earlier: { readonly digest: string; readonly until: number | undefined },
  secret: Secret,
  now: number,
): readonly Statement[] => {
  const end = earlier.until ?? now
  return [
    change,
    {
      sql: REPLACE_SECRET[kind],
      values: [secret.digest, secret.prefix, secret.lastFour, id, earlier.digest],
      rows: 1,
      otherwise: 'KEY_UNKNOWN',
    },
    ...(earlier.until === undefined ? [{ sql: END_SECRETS, values: [now, kind, id, now] }] : []),
    { sql: KEEP_SECRET, values: [earlier.digest, kind, id, end], rows: 1 },
    ...(kind === 'system-token' ? [{ sql: BOUND_SESSIONS, values: [end, id, end] }] : []),
  ]
}

const NO_LIMITS =
  'NULL AS models, NULL AS limits, NULL AS quota, NULL AS quota_period, NULL AS period_quota'
const COLUMNS: Readonly<Record<Kind, string>> = {
  key: 'c.models, c.limits, c.quota, c.quota_period, c.period_quota',
  'system-token': `${NO_LIMITS}, c.scope`,
  session: NO_LIMITS,
  'sign-in-link': NO_LIMITS,
}
const ofAccount = (kind: Kind): string => `a.id AS account, a.name AS account_name, a.role,
    a.suspended, a.limits AS account_limits, m.id AS member, m.name AS member_name, m.tags AS member_tags,
    ${kind === 'session' ? 'coalesce(c.member_role, m.role)' : 'm.role'} AS member_role`
const JOIN_MEMBER = 'LEFT JOIN members m ON m.id = c.member'
const select = (kind: Kind): string => `
  SELECT c.id, c.digest, c.name, c.prefix, c.last_four, c.created, c.expires, c.revoked, ${COLUMNS[kind]},
    ${ofAccount(kind)}
  FROM ${TABLES[kind]} c JOIN accounts a ON a.id = c.account ${JOIN_MEMBER}`
/** The numbers of credentials by the digests of their secrets, with the end of earlier ones. */
const secretsOf = (kind: Kind): string =>
  `(SELECT digest, id AS credential, NULL AS until FROM ${TABLES[kind]}
    UNION ALL SELECT digest, credential, until FROM earlier_secrets WHERE kind = '${kind}')`
const selectBySecret = (kind: Kind): string => `
  SELECT c.id, s.digest, c.name, c.prefix, c.last_four, c.created, c.revoked, ${COLUMNS[kind]},
    CASE WHEN c.expires IS NULL OR s.until < c.expires THEN s.until ELSE c.expires END AS expires,
    ${ofAccount(kind)}
  FROM ${secretsOf(kind)} s JOIN ${TABLES[kind]} c ON c.id = s.credential
    JOIN accounts a ON a.id = c.account ${JOIN_MEMBER}`
/** The number of the key of a digest, as an expression; its parameters: the digest and ms since
 *  1970, at which an earlier secret must be valid. */
export const KEY_OF_DIGEST = `(SELECT s.credential FROM ${secretsOf('key')} s
    WHERE s.digest = ? AND (s.until IS NULL OR s.until > ?))`
/** By digest. */
export const FIND = perKind(kind =>
  sql(`find ${kind}`, `${selectBySecret(kind)} WHERE s.digest = ?`),
)
/** Whether an account is suspended, and whether the credential of its work has ended: a key, a
 *  system token, or a session of the console, which stands for its member and for the identity or
 *  the token that began it. Work that a session accepted goes on after the session has ended.
 *  `until`: when the secret of the digest ends, if the session or an earlier secret of the
 *  credential has that digest. ms or null. Parameters: session, key, token, member, digest, digest,
 *  account. */
export const FIND_OWNER = sql(
  'find owner',
  `SELECT a.suspended, coalesce(k.revoked, t.revoked, m.removed, o.revoked) AS revoked,
     coalesce(k.expires, CASE WHEN s.id IS NULL THEN t.expires END) AS expires,
     coalesce(e.until, o.expires) AS until
   FROM accounts a LEFT JOIN sessions s ON s.id = CAST(? AS BIGINT)
     LEFT JOIN api_keys k ON k.id = coalesce(CAST(? AS BIGINT), s.identity)
     LEFT JOIN system_tokens t ON t.id = coalesce(CAST(? AS BIGINT), s.token)
     LEFT JOIN members m ON m.id = CAST(? AS BIGINT)
     LEFT JOIN earlier_secrets e ON e.digest = CAST(? AS TEXT)
     LEFT JOIN sessions o ON o.id = s.id AND o.digest = CAST(? AS TEXT)
   WHERE a.id = ?`,
)
/** The number of digests in one batched read. Unused parameters are ''. */
export const BATCH_SIZE = 100
export const FIND_BATCH = perKind(kind =>
  sql(
    `find batch ${kind}`,
    `${selectBySecret(kind)} WHERE s.digest IN (${Array(BATCH_SIZE).fill('?').join(', ')})`,
  ),
)
/** Pages of all credentials. */
export const LIST_CREDENTIALS = perKind(kind =>
  sql(`list ${kind}`, `${select(kind)} WHERE c.id > ? ORDER BY c.id LIMIT ?`),
)
/** Pages of the credentials of one account. */
export const LIST_CREDENTIALS_OF = perKind(kind =>
  sql(`list ${kind} of`, `${select(kind)} WHERE c.account = ? AND c.id > ? ORDER BY c.id LIMIT ?`),
)
/** Pages of the credentials of one member. Parameters: account, member, the number to start after,
 *  row count. */
export const LIST_CREDENTIALS_OF_MEMBER = perKind(kind =>
  sql(
    `list ${kind} of member`,
    `${select(kind)} WHERE c.account = ? AND c.member = ? AND c.id > ? ORDER BY c.id LIMIT ?`,
  ),
)
/** By number. */
export const FIND_BY_ID = perKind(kind => sql(`id ${kind}`, `${select(kind)} WHERE c.id = ?`))
/** `imported`: 1 if any key has a secret that was made elsewhere. */
export const LAST_CHANGE = sql(
  'last change',
  `SELECT number, (SELECT max(imported) FROM api_keys WHERE imported IS NOT NULL) AS imported
   FROM credential_changes WHERE id = 1`,
)
const changedEarlier = (kind: Rotated): string =>
  `SELECT e.digest, c.change, NULL AS imported FROM ${TABLES[kind]} c
   JOIN earlier_secrets e ON e.kind = '${kind}' AND e.credential = c.id WHERE c.change > ?`
/** A change of a credential is one of its earlier secrets too. Each parameter: the last number. */
export const CHANGED = sql(
  'changed',
  `SELECT digest, change, imported FROM api_keys WHERE change > ?
   UNION ALL SELECT digest, change, NULL FROM system_tokens WHERE change > ?
   UNION ALL SELECT digest, change, NULL FROM sessions WHERE change > ?
   UNION ALL ${changedEarlier('key')} UNION ALL ${changedEarlier('system-token')}`,
)
export const CHANGED_PARAMETERS = 5
/** Accounts with the number of their keys. `where` refers to the table as `a`. */
export const accountRows = (where: string): string =>
  `SELECT a.id, a.name, a.role, a.created, a.suspended, a.limits,
     (SELECT count(*) FROM api_keys k WHERE k.account = a.id AND k.revoked IS NULL) AS keys
   FROM accounts a WHERE ${where}`
/** Numbers of accounts. `joins`: of other tables; `rest`, the condition and what follows it, refers
 *  to the table as `a`. */
export const accountNumbers = (joins: string, rest: string): string =>
  `SELECT a.id FROM accounts a ${joins} WHERE ${rest}`
export const ACCOUNT_BY_ID = sql('account', accountRows('a.id = ?'))
export const LAST_ACCOUNT = sql('last account', 'SELECT max(id) AS id FROM accounts')
/** Changes nothing; updates no row unless the account of this name has this number. */
export const HAS_NUMBER = sql(
  'has number',
  'UPDATE accounts SET name = name WHERE name = ? AND id = ?',
)
/** By name or by number. */
export const FIND_ACCOUNT = sql(
  'find',
  'SELECT id, name, role, suspended FROM accounts WHERE name = ? OR id = CAST(? AS BIGINT)',
)
/** Adds the names of accounts, whose numbers are in a column, to the rows of a query. */
export const withAccountNames = (rows: string, column: string): string =>
  `SELECT r.*, (SELECT a.name FROM accounts a WHERE a.id = r.${column}) AS account_name FROM (${rows}) r`
export const ANY_ACCOUNT = sql('any', 'SELECT id FROM accounts LIMIT 1')

/** The columns that the owner may see, without the digest. `where` refers to the table as `k`. */
const OWN_COLUMNS =
  'k.id, k.account, k.name, k.prefix, k.last_four, k.created, k.expires, k.revoked'
export const keyRows = (where: string): string =>
  `SELECT ${OWN_COLUMNS}, k.models, k.limits, k.quota, k.quota_period, k.period_quota
   FROM api_keys k WHERE ${where}`
/** Keys whose period began before an instant. Parameters: name of the period, ms since 1970, the
 *  number to start after, row count. */
export const endedPeriods =
  'SELECT k.id, k.account, k.quota, k.period_quota FROM api_keys k WHERE k.quota_period = ? AND k.period_start < ? AND k.revoked IS NULL AND k.id > ? ORDER BY k.id LIMIT ?'
/** Adds the names of keys to rows whose `name` is the number of a key. */
export const withKeyNames = (rows: string, order: string): string =>
  `SELECT s.*, k.name AS key_name, k.account AS key_account, k.prefix, k.last_four
   FROM (${rows}) s LEFT JOIN api_keys k ON k.id = s.name ORDER BY ${order}`
