/** Pure statements over the Idempotency-Keys: `keepReply` and `freeKey` go into the list of whoever settles the call. */
import type { Bytes, Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `idempotency: ${name}`, text })

/** Whose key on which route. */
export interface KeyName {
  readonly account: number
  readonly route: string
  readonly key: string
}
export interface Claim extends KeyName {
  /** The exchange that runs it. */
  readonly request: string
  readonly process: string
  /** Digest of all that the answer depends on. */
  readonly body: string
  /** The store's clock, ms. */
  readonly claimed: number
}

const CLAIM = sql(
  'claim',
  `INSERT INTO idempotency_keys (account, route, key, request, process, body, claimed)
   VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, route, key) DO NOTHING`,
)
const LOOK = sql(
  'look',
  `SELECT request, body, claimed, status, CASE WHEN reply IS NULL THEN 0 ELSE 1 END AS whole
   FROM idempotency_keys WHERE account = ? AND route = ? AND key = ?`,
)
/** By the exchange that ran it. */
export const REPLY = sql(
  'reply',
  'SELECT status, headers, reply FROM idempotency_keys WHERE request = ? AND status IS NOT NULL',
)
const KEEP = sql(
  'keep',
  `UPDATE idempotency_keys SET process = NULL, status = ?, headers = ?, reply = ?
   WHERE request = ? AND process IS NOT NULL`,
)
const FREE = sql('free', 'DELETE FROM idempotency_keys WHERE request = ? AND process IS NOT NULL')
const EXPIRE = sql('expire', 'DELETE FROM idempotency_keys WHERE request = ? AND process IS NULL')
const CLEAN = sql(
  'clean',
  `DELETE FROM idempotency_keys WHERE request IN (SELECT request FROM idempotency_keys
   WHERE claimed <= ? AND process IS NULL ORDER BY claimed LIMIT ?) RETURNING request`,
)

/** Claims it unless somebody has it. The second statement returns whose it is now. Rejects with IDEMPOTENCY_BURIED when the
 *  process is taken for dead. */
export const claimKey = (claim: Claim): readonly Statement[] => [
  {
    sql: CLAIM,
    values: [
      ...[claim.account, claim.route, claim.key, claim.request],
      ...[claim.process, claim.body, claim.claimed],
    ],
    violates: { idempotency_owner: 'IDEMPOTENCY_BURIED', 'FOREIGN KEY': 'IDEMPOTENCY_BURIED' },
  },
  { sql: LOOK, values: [claim.account, claim.route, claim.key] },
]
/** `reply` undefined: it was too large. Rejects with IDEMPOTENCY_LOST when the claim is no longer its own. */
export const storeResponse = (
  request: string,
  status: number,
  headers: string,
  reply: Bytes | undefined,
): Statement => ({
  sql: KEEP,
  values: [status, headers, reply ?? null, request],
  rows: 1,
  otherwise: 'IDEMPOTENCY_LOST',
})
/** The next request with this key runs. Harmless where a reply is kept. */
export const freeKey = (request: string): Statement => ({ sql: FREE, values: [request] })
export const expireKey = (request: string): Statement => ({ sql: EXPIRE, values: [request] })
/** Returns a row for each that went. */
export const cleanKeys = (claimedUntil: number, most: number): Statement => ({
  sql: CLEAN,
  values: [claimedUntil, most],
})
