/** The statements of accounts, keys and system tokens. Pure: callers combine them in one list. */
import type { Sql, Statement, Value } from '../../engine/plugin.ts'
import type { Account, AccountKey } from '../slots.ts'
import type { Kind, Secret } from './secret.ts'

const TABLES: Readonly<Record<Kind, string>> = { key: 'api_keys', 'system-token': 'system_tokens' }
const NOW_AT = '(SELECT number FROM credential_changes WHERE id = 1)'
const sql = (name: string, text: string): Sql => ({ name: `accounts: ${name}`, text })
const perKind = (make: (kind: Kind) => Sql): Readonly<Record<Kind, Sql>> => ({
  key: make('key'),
  'system-token': make('system-token'),
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
  `INSERT INTO api_keys (id, account, name, digest, prefix, last_four, created, expires, models, limits, quota, change)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM api_keys), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${NOW_AT}) RETURNING id`,
)
const ADD_TOKEN = sql(
  'add token',
  `INSERT INTO system_tokens (id, account, name, digest, prefix, last_four, created, expires, change)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM system_tokens), ?, ?, ?, ?, ?, ?, ?, ${NOW_AT}) RETURNING id`,
)
const REVOKE = perKind(kind =>
  sql(
    `revoke ${kind}`,
    `UPDATE ${TABLES[kind]} SET revoked = ?, change = ${NOW_AT} WHERE id = ? AND revoked IS NULL`,
  ),
)
const OWN = 'WHERE id = ? AND account = ? AND revoked IS NULL'
const set = (column: string, type: 'TEXT' | 'BIGINT'): string =>
  `${column} = CASE WHEN CAST(? AS BIGINT) = 1 THEN CAST(? AS ${type}) ELSE ${column} END`
const NAMED = `${set('name', 'TEXT')}, ${set('expires', 'BIGINT')}`
const LIMITED = `${set('models', 'TEXT')}, ${set('limits', 'TEXT')}, ${set('quota', 'BIGINT')}`
const CHANGE_CREDENTIAL: Readonly<Record<Kind, Sql>> = {
  key: sql('change key', `UPDATE api_keys SET ${NAMED}, ${LIMITED}, change = ${NOW_AT} ${OWN}`),
  'system-token': sql(
    'change token',
    `UPDATE system_tokens SET ${NAMED}, change = ${NOW_AT} ${OWN}`,
  ),
}
const SUSPEND = sql('suspend', 'UPDATE accounts SET suspended = ? WHERE id = ?')
const TOUCH = perKind(kind =>
  sql(`touch ${kind}`, `UPDATE ${TABLES[kind]} SET change = ${NOW_AT} WHERE account = ?`),
)

/** The first statement of each list that changes a credential. It locks the counter, so that change
 *  numbers become visible in order. */
const change: Statement = { sql: CHANGE, values: [], rows: 1 }

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

export interface NewCredential extends Pick<AccountKey, 'name' | 'models' | 'limits' | 'quota'> {
  readonly account: number
  readonly secret: Secret
  /** ms since 1970. */
  readonly expires?: number | undefined
}
/** Returns `id`. Rejects with ACCOUNT_UNKNOWN. */
export const addKey = (key: NewCredential, now: number): readonly Statement[] => [
  change,
  {
    sql: ADD_KEY,
    values: [
      ...sharedOf(key, now),
      key.models ? JSON.stringify(key.models) : null,
      key.limits ? JSON.stringify(key.limits) : null,
      key.quota ?? null,
    ],
    rows: 1,
    violates: { 'FOREIGN KEY': 'ACCOUNT_UNKNOWN' },
  },
]
/** Like `addKey`; a system token has no limits. */
export const addToken = (token: NewCredential, now: number): readonly Statement[] => [
  change,
  {
    sql: ADD_TOKEN,
    values: sharedOf(token, now),
    rows: 1,
    violates: { 'FOREIGN KEY': 'ACCOUNT_UNKNOWN' },
  },
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
  readonly quota?: number | null | undefined
}
/** Rejects with KEY_UNKNOWN when the account has no such unrevoked credential. */
export const changeCredential = (
  kind: Kind,
  id: number,
  account: number,
  { name, expires, models, limits, quota }: CredentialChanges,
): readonly Statement[] => {
  const shared = [...assignment(name), ...assignment(expires)]
  const keyOnly = [
    ...assignment(asJson(models)),
    ...assignment(asJson(limits)),
    ...assignment(quota),
  ]
  const values = [...shared, ...(kind === 'key' ? keyOnly : []), id, account]
  return [change, { sql: CHANGE_CREDENTIAL[kind], values, rows: 1, otherwise: 'KEY_UNKNOWN' }]
}
const assignment = (value: Value | undefined): readonly Value[] =>
  value === undefined ? [0, null] : [1, value]
const asJson = (value: unknown): string | null | undefined =>
  value === undefined || value === null ? value : JSON.stringify(value)

/** Rejects with KEY_UNKNOWN when no unrevoked credential has this number. */
export const revoke = (kind: Kind, id: number, now: number): readonly Statement[] => [
  change,
  { sql: REVOKE[kind], values: [now, id], rows: 1, otherwise: 'KEY_UNKNOWN' },
]
/** `since`: ms, or null to resume. Marks all credentials of the account as changed, so that every
 *  process reads them again. */
export const suspendAccount = (id: number, since: number | null): readonly Statement[] => [
  change,
  { sql: SUSPEND, values: [since, id], rows: 1, otherwise: 'ACCOUNT_UNKNOWN' },
  { sql: TOUCH.key, values: [id] },
  { sql: TOUCH['system-token'], values: [id] },
]

const COLUMNS: Readonly<Record<Kind, string>> = {
  key: 'c.models, c.limits, c.quota',
  'system-token': 'NULL AS models, NULL AS limits, NULL AS quota',
}
const select = (kind: Kind): string => `
  SELECT c.id, c.digest, c.name, c.prefix, c.last_four, c.created, c.expires, c.revoked, ${COLUMNS[kind]},
    a.id AS account, a.name AS account_name, a.role, a.suspended
  FROM ${TABLES[kind]} c JOIN accounts a ON a.id = c.account`
/** By digest. */
export const FIND = perKind(kind => sql(`find ${kind}`, `${select(kind)} WHERE c.digest = ?`))
/** The number of digests in one batched read. Unused parameters are ''. */
export const BATCH_SIZE = 100
export const FIND_BATCH = perKind(kind =>
  sql(
    `find batch ${kind}`,
    `${select(kind)} WHERE c.digest IN (${Array(BATCH_SIZE).fill('?').join(', ')})`,
  ),
)
/** Pages of the credentials of one account (twice) or of all (twice null). */
export const LIST_CREDENTIALS = perKind(kind =>
  sql(
    `list ${kind}`,
    `${select(kind)} WHERE (CAST(? AS BIGINT) IS NULL OR c.account = ?) AND c.id > ?
     ORDER BY c.id LIMIT ?`,
  ),
)
/** By number. */
export const FIND_BY_ID = perKind(kind => sql(`id ${kind}`, `${select(kind)} WHERE c.id = ?`))
export const LAST_CHANGE = sql('last change', 'SELECT number FROM credential_changes WHERE id = 1')
export const CHANGED = sql(
  'changed',
  `SELECT digest, change FROM api_keys WHERE change > ?
   UNION ALL SELECT digest, change FROM system_tokens WHERE change > ?`,
)
export const LIST_ACCOUNTS = sql(
  'list',
  `SELECT a.id, a.name, a.role, a.created, a.suspended,
     (SELECT count(*) FROM api_keys k WHERE k.account = a.id AND k.revoked IS NULL) AS keys
   FROM accounts a WHERE a.id > ? ORDER BY a.id LIMIT ?`,
)
/** By name or by number. */
export const FIND_ACCOUNT = sql(
  'find',
  'SELECT id, name, role, suspended FROM accounts WHERE name = ? OR id = CAST(? AS BIGINT)',
)
export const ANY_ACCOUNT = sql('any', 'SELECT id FROM accounts LIMIT 1')

/** The columns that the owner may see, without the digest. `where` refers to the table as `k`. */
const OWN_COLUMNS =
  'k.id, k.account, k.name, k.prefix, k.last_four, k.created, k.expires, k.revoked'
export const keyRows = (where: string): string =>
  `SELECT ${OWN_COLUMNS}, k.models, k.limits, k.quota FROM api_keys k WHERE ${where}`
export const tokenRows = (where: string): string =>
  `SELECT ${OWN_COLUMNS} FROM system_tokens k WHERE ${where}`
/** Adds the names of keys to rows whose `name` is the number of a key. */
export const withKeyNames = (rows: string): string =>
  `SELECT s.*, k.name AS key_name, k.prefix, k.last_four
   FROM (${rows}) s LEFT JOIN api_keys k ON k.id = s.name ORDER BY s.name`
