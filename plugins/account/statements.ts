/** What the account endpoints read, and the two things they change beside the ledger. The tables are those of accounts and
 *  of the ledger; a wallet's number is `walletOf`'s. */
import type { Sql, Statement } from '../../engine/plugin.ts'
import type { Kind } from '../credentials/secret.ts'
import { openWallet } from '../ledger/statements.ts'
import { walletOf } from '../ledger/wallet.ts'

const sql = (name: string, text: string): Sql => ({ name: `account: ${name}`, text })

// ---------------------------------------------------------------- funds and credentials

export const WALLET = sql('wallet', 'SELECT balance, used FROM wallets WHERE id = ?')

const KEYS = `
  SELECT k.id, k.account, k.name, k.prefix, k.last_four, k.created, k.expires, k.revoked, k.models, k.limits, k.quota,
    w.balance, w.used, o.balance AS own_balance, o.used AS own_used
  FROM api_keys k LEFT JOIN wallets w ON w.id = k.account * 2 LEFT JOIN wallets o ON o.id = k.id * 2 + 1`
const TOKENS = `
  SELECT k.id, k.account, k.name, k.prefix, k.last_four, k.created, k.expires, k.revoked
  FROM system_tokens k`
export const KEY_BY_DIGEST = sql('key by digest', `${KEYS} WHERE k.digest = ?`)
/** By account and number. */
export const CREDENTIAL: Readonly<Record<Kind, Sql>> = {
  key: sql('key', `${KEYS} WHERE k.account = ? AND k.id = ?`),
  'system-token': sql('token', `${TOKENS} WHERE k.account = ? AND k.id = ?`),
}
/** By account, the number to start after, and how many. */
export const CREDENTIALS: Readonly<Record<Kind, Sql>> = {
  key: sql('keys', `${KEYS} WHERE k.account = ? AND k.id > ? ORDER BY k.id LIMIT ?`),
  'system-token': sql('tokens', `${TOKENS} WHERE k.account = ? AND k.id > ? ORDER BY k.id LIMIT ?`),
}

// What is used stays used: only what is left of it moves. A process may have some of it in its share.
const REQUOTA = sql(
  'requota',
  'UPDATE wallets SET balance = CAST(? AS BIGINT) - used WHERE id = ? AND CAST(? AS BIGINT) - used >= reserved',
)
const UNGUARD = sql('unguard', 'UPDATE wallets SET limited = 0 WHERE id = ?')

/** What a key may spend, nanos, in place of what it might so far; undefined: as much as its account has, on either side. Calls
 *  under way end as they began: one that held nothing of a quota is charged to it all the same, which is why no constraint
 *  guards it any more. Rejects with QUOTA_IN_USE. */
export const changeQuota = (
  key: number,
  before: bigint | undefined,
  after: bigint | undefined,
): readonly Statement[] => {
  const wallet = walletOf.key(key)
  return [
    // Before a process that has not heard of it yet opens it with the old one.
    openWallet(wallet, after),
    ...(before === undefined || after === undefined ? [{ sql: UNGUARD, values: [wallet] }] : []),
    ...(after === undefined ? [] : [requota(wallet, after)]),
  ]
}
const requota = (wallet: number, nanos: bigint): Statement => ({
  sql: REQUOTA,
  values: [nanos, wallet, nanos],
  rows: 1,
  otherwise: 'QUOTA_IN_USE',
})

// ---------------------------------------------------------------- usage

const CALL = `
  SELECT c.request, c.opened, c.closed, c.route, c.model, c.key, c.state, c.held, c.amount, c.uncollected, c.estimated,
    c.usage, c.lines, r.amount AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request`
/** By request and account. */
export const RECEIPT = sql('receipt', `${CALL} WHERE c.request = ? AND c.account = ?`)
/** The latest first. By account, from, to; then where the last page ended (opened, opened, request), and how many. */
export const CALLS = sql(
  'calls',
  `${CALL} WHERE c.account = ? AND c.opened >= ? AND c.opened < ?
     AND (c.opened < ? OR (c.opened = ? AND c.request < ?))
   ORDER BY c.opened DESC, c.request DESC LIMIT ?`,
)

const SUMS = (group: string): string => `
  SELECT ${group} AS name, count(*) AS calls, CAST(sum(c.amount) AS BIGINT) AS amount,
    CAST(coalesce(sum(r.amount), 0) AS BIGINT) AS refunded
  FROM charges c LEFT JOIN credits r ON r.request = c.request
  WHERE c.account = ? AND c.opened >= ? AND c.opened < ? AND c.state = 'settled' AND ${group} > ?
  GROUP BY ${group} ORDER BY ${group} LIMIT ?`
/** By account, from, to, the group to start after, and how many. Days are numbers since 1970, UTC. */
export const BY_DAY = sql('by day', SUMS('c.opened / 86400000'))
export const BY_MODEL = sql('by model', SUMS('c.model'))
/** What no key paid for stands under 0. */
export const BY_KEY = sql(
  'by key',
  `SELECT s.name, s.calls, s.amount, s.refunded, k.name AS key_name, k.prefix, k.last_four
   FROM (${SUMS('coalesce(c.key, 0)')}) s LEFT JOIN api_keys k ON k.id = s.name ORDER BY s.name`,
)
