/** The statements of Idempotency-Keys. Pure. Callers write `storeResponse` and `freeKey` in the
 *  transaction that settles the call. */
import type { Bytes, Sql, Statement } from '../../engine/plugin.ts'

const sql = (name: string, text: string): Sql => ({ name: `idempotency: ${name}`, text })

/** A key of an account on a route. */
export interface KeyName {
  readonly account: number
  readonly route: string
  /** Of a `member`: with the number of the member before it. */
  readonly key: string
}
export interface Claim extends KeyName {
  /** The exchange that runs it. */
  readonly request: string
  readonly process: string
  /** Digest of everything that the response depends on. */
  readonly body: string
  /** The store's clock, ms. */
  readonly claimed: number
}

const CLAIM = sql(
  'claim',
  `INSERT INTO idempotency_keys (account, route, key, request, process, body, claimed)
   VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, route, key) DO NOTHING`,
)
const READ_CLAIM = sql(
  'read claim',
  `SELECT request, body, claimed, status, CASE WHEN reply IS NULL THEN 0 ELSE 1 END AS whole
   FROM idempotency_keys WHERE account = ? AND route = ? AND key = ?`,
)
const REPLAY = sql(
  'replay',
  'UPDATE idempotency_keys SET replayed = 1 WHERE request = ? AND status IS NOT NULL',
)
/** The response of a request (request). */
export const RESPONSE = sql(
  'response',
  'SELECT status, headers, reply FROM idempotency_keys WHERE request = ? AND replayed = 1',
)
const STORE = sql(
  'store',
  `UPDATE idempotency_keys SET process = NULL, status = ?, headers = ?, reply = ?
   WHERE request = ? AND process IS NOT NULL`,
)
const REPLACE = sql(
  'replace',
  'UPDATE idempotency_keys SET status = ?, headers = ?, reply = ? WHERE request = ? AND status IS NOT NULL',
)
const DELETE_CLAIM = sql(
  'free',
  'DELETE FROM idempotency_keys WHERE request = ? AND process IS NOT NULL',
)
const FORGET = sql('forget', 'DELETE FROM idempotency_keys WHERE request = ? AND replayed = 0')
const IS_REPLAYED = sql('is replayed', 'UPDATE idempotency_keys SET replayed = 1 WHERE request = ?')
const EXPIRE = sql('expire', 'DELETE FROM idempotency_keys WHERE request = ? AND process IS NULL')
const CLEAN = sql(
  'clean',
  `DELETE FROM idempotency_keys WHERE request IN (SELECT request FROM idempotency_keys
   WHERE claimed <= ? AND process IS NULL ORDER BY claimed LIMIT ?) RETURNING request`,
)

/** Claims a key unless it is claimed. The second statement returns its owner. Rejects with
 *  IDEMPOTENCY_REAPED when the process was reaped. */
export const claimKey = (claim: Claim): readonly Statement[] => [
  {
    sql: CLAIM,
    values: [
      claim.account,
      claim.route,
      claim.key,
      claim.request,
      claim.process,
      claim.body,
      claim.claimed,
    ],
    violates: { idempotency_owner: 'IDEMPOTENCY_REAPED', 'FOREIGN KEY': 'IDEMPOTENCY_REAPED' },
  },
  { sql: READ_CLAIM, values: [claim.account, claim.route, claim.key] },
]
/** `reply`: undefined if the response is too large to store. Rejects with IDEMPOTENCY_LOST when the
 *  claim has another owner. */
export const storeResponse = (
  request: string,
  status: number,
  headers: string,
  reply: Bytes | undefined,
): Statement => ({
  sql: STORE,
  values: [status, headers, reply ?? null, request],
  rows: 1,
  otherwise: 'IDEMPOTENCY_LOST',
})
/** Statuses of keys that are used up and have no response: it may show a secret and is not stored,
 *  or it is not stored yet. */
export const WITHHELD = 204
export const PENDING = 102
export const useUp = (request: string, mayShowSecret: boolean): Statement =>
  storeResponse(request, mayShowSecret ? WITHHELD : PENDING, '{}', undefined)
/** Replaces a stored response by a later one of the same request. */
export const replaceResponse = (
  request: string,
  status: number,
  headers: string,
  reply: Bytes,
): Statement => ({ sql: REPLACE, values: [status, headers, reply, request] })
/** Frees a claimed key, so that its next request runs. Keeps a stored response. */
export const freeKey = (request: string): Statement => ({ sql: DELETE_CLAIM, values: [request] })
/** Marks the response that a request has stored, if any, as one that a client gets: from then on
 *  its effects cannot be undone. The response is read apart, since the store records what a write
 *  returns. */
export const replay = (request: string): Statement => ({ sql: REPLAY, values: [request] })
/** Frees a key together with its stored response, unless another request has got that. */
export const forgetUnseen = (request: string): Statement => ({ sql: FORGET, values: [request] })
/** Frees a key together with its stored response. Rejects with IDEMPOTENCY_REPLAYED if another
 *  request has got that response. */
export const forgetKey = (request: string): readonly Statement[] => [
  forgetUnseen(request),
  // In its own statement: PostgreSQL has waited for a replay under way by now.
  { sql: IS_REPLAYED, values: [request], rows: 0, otherwise: 'IDEMPOTENCY_REPLAYED' },
]
export const expireKey = (request: string): Statement => ({ sql: EXPIRE, values: [request] })
/** Returns a row for each deleted key. */
export const cleanKeys = (claimedUntil: number, limit: number): Statement => ({
  sql: CLEAN,
  values: [claimedUntil, limit],
})
