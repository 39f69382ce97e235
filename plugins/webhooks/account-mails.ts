/** The statements of mails to accounts: their addresses, and the mails that wait or were sent.
 *  Pure: callers combine them with their own in one list. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import type { Attempt } from './delivery.ts'

const sql = (name: string, text: string): Sql => ({ name: `account mails: ${name}`, text })
const DAY = 86_400_000

// ---------------------------------------------------------------- addresses

/** ms for which a code is valid. */
export const CODE_LIFETIME = DAY
/** Codes that may be entered for one that was sent. */
const MAX_TRIES = 5

/** Every address with its `account`; the second one as a subquery. */
export const ADDRESSES_OF_ALL = 'SELECT account, address, confirmed FROM mail_addresses'
export const ADDRESSES = `(${ADDRESSES_OF_ALL})`
/** Subquery: those that mails about the balance go to. */
export const CONFIRMED = '(SELECT account, address FROM mail_addresses WHERE confirmed IS NOT NULL)'

const SET = sql(
  'set address',
  `INSERT INTO mail_addresses (account, address, code, asked, tries, confirmed)
   VALUES (?, ?, ?, ?, 0, ?) ON CONFLICT (account) DO UPDATE SET address = excluded.address,
     code = excluded.code, asked = excluded.asked, tries = 0, confirmed = excluded.confirmed`,
)
const REMOVE = sql('remove address', 'DELETE FROM mail_addresses WHERE account = ?')
const DROP = sql(
  'drop pending',
  `UPDATE account_mails SET state = 'failed', outcome = 'removed' WHERE account = ? AND state = 'pending'`,
)
const TRY = sql(
  'try code',
  `UPDATE mail_addresses SET tries = tries + 1 WHERE account = ? AND confirmed IS NULL
     AND tries < ${MAX_TRIES} AND asked > ? RETURNING code`,
)
const CONFIRM = sql(
  'confirm address',
  'UPDATE mail_addresses SET confirmed = ?, code = NULL WHERE account = ? AND code = ?',
)

export interface NewAddress {
  readonly account: number
  readonly address: string
  /** Undefined: it needs no confirmation. */
  readonly code: string | undefined
  readonly now: number
}
/** Sets or replaces the address of an account. Its pending mails fail. */
export const setAddress = ({ account, address, code, now }: NewAddress): readonly Statement[] => [
  { sql: DROP, values: [account] },
  { sql: SET, values: [account, address, code ?? null, now, code === undefined ? now : null] },
]
/** Deletes the address of an account. Its pending mails fail. */
export const removeAddress = (account: number): readonly Statement[] => [
  { sql: REMOVE, values: [account] },
  { sql: DROP, values: [account] },
]
/** Counts the entry of a code; its row has the right one. Rejects with MAIL_CODE. */
export const tryCode = (account: number, now: number): Statement => ({
  sql: TRY,
  values: [account, now - CODE_LIFETIME],
  rows: 1,
  otherwise: 'MAIL_CODE',
})
/** Rejects with MAIL_CODE. */
export const confirmAddress = (account: number, code: string, now: number): Statement => ({
  sql: CONFIRM,
  values: [now, account, code],
  rows: 1,
  otherwise: 'MAIL_CODE',
})

// ---------------------------------------------------------------- mails

/** Mails in 24 hours: about the balance to one account; with codes of one account, and to one
 *  address. */
const MAX_LOW = 10
export const MAX_CODES = 3

const ADD_LOW = sql(
  'add low',
  `INSERT INTO account_mails
     (id, account, address, kind, balance, threshold, state, last, due, created)
   SELECT CAST(? AS TEXT), m.account, m.address, 'low', CAST(? AS BIGINT), CAST(? AS BIGINT),
     'pending', CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)
   FROM ${CONFIRMED} m
   WHERE m.account = ? AND ${MAX_LOW} > (SELECT count(*) FROM account_mails
     WHERE account = m.account AND kind = 'low' AND created > ?)`,
)
const ADD_CODE = sql(
  'add code',
  `INSERT INTO account_mails (id, account, address, kind, state, last, due, created)
   SELECT CAST(? AS TEXT), m.account, m.address, 'code', 'pending',
     CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)
   FROM mail_addresses m
   WHERE m.account = ? AND ${MAX_CODES} > (SELECT count(*) FROM account_mails
       WHERE account = m.account AND kind = 'code' AND created > ?)
     AND ${MAX_CODES} > (SELECT count(*) FROM account_mails
       WHERE address = m.address AND kind = 'code' AND created > ?)`,
)
export interface NewMail {
  readonly id: string
  readonly account: number
  readonly attempts: number
  readonly now: number
}
interface LowBalance {
  /** Nanos, both. */
  readonly balance: bigint
  readonly threshold: bigint
}
/** Adds a mail about a low balance, unless the account had its number of them in 24 hours. */
export const addLowMail = (
  { id, account, attempts, now }: NewMail,
  { balance, threshold }: LowBalance,
): Statement => ({
  sql: ADD_LOW,
  values: [id, balance, threshold, attempts, now, now, account, now - DAY],
})
/** Rejects with MAIL_LIMIT. */
export const addCodeMail = ({ id, account, attempts, now }: NewMail): Statement => ({
  sql: ADD_CODE,
  values: [id, attempts, now, now, account, now - DAY, now - DAY],
  rows: 1,
  otherwise: 'MAIL_LIMIT',
})

/** Accounts with mails that are due. Parameters: now twice, row count. */
export const DUE = sql(
  'due',
  `SELECT account AS receiver, CASE WHEN max(attempts) > 0 THEN 1 ELSE 0 END AS failing
   FROM account_mails WHERE state = 'pending' AND due <= ? AND due <= ?
   GROUP BY account ORDER BY failing, min(due) LIMIT ?`,
)
/** The text of a query: the next mail of an account, with the code of its address. Parameters:
 *  account, now twice. */
export const NEXT = `SELECT e.id, e.account, e.address, e.kind, e.balance, e.threshold, e.attempts, e.last,
     e.created, m.code
   FROM account_mails e JOIN mail_addresses m ON m.account = e.account AND m.address = e.address
   WHERE e.account = ? AND e.state = 'pending' AND e.due <= ? AND e.due <= ?
   ORDER BY e.due, e.id LIMIT 1`
export const PENDING = sql(
  'pending',
  "SELECT count(*) AS number, min(due) AS oldest FROM account_mails WHERE state = 'pending'",
)
const FINISH = sql(
  'finish attempt',
  `UPDATE account_mails SET state = ?, attempts = attempts + 1, due = ?, outcome = ?, status = ?
   WHERE id = ? AND attempts = ? AND state = 'pending'`,
)
export const recordMailAttempt = ({ row, at, result, next }: Attempt): readonly Statement[] => {
  const { outcome, status = null } = result
  const state = outcome === 'delivered' ? outcome : next === undefined ? 'failed' : 'pending'
  const values = [state, next ?? at, outcome, status, String(row.id), Number(row.attempts)]
  return [{ sql: FINISH, values, rows: 1, otherwise: 'EVENT_MOVED' }]
}
/** Mails with the names of webhook events, for the same views. */
export const MAILS = `SELECT e.id, e.account, e.address, e.kind, e.state, e.attempts, e.created, e.due,
   e.outcome, e.status FROM account_mails e`
export const LIST_MAILS = sql('list of', `${MAILS} WHERE e.account = ? ORDER BY e.id DESC LIMIT ?`)

const OLD = sql(
  'old',
  `DELETE FROM account_mails WHERE id IN (SELECT id FROM account_mails
     WHERE state <> 'pending' AND created < ? ORDER BY created LIMIT 500) RETURNING id`,
)
export const deleteOldMails = (before: number): readonly Statement[] => [
  { sql: OLD, values: [before] },
]
