/** Refunds a call that was refused after its charge, or while the result of its charge was
 *  unknown. */
import type { Sql, Statement } from '../../../engine/plugin.ts'
import { IS_KEPT } from '../kept-hold.ts'
import { lockOf } from '../statements.ts'

const RELEASE_OPEN: Sql = {
  name: 'ledger: release undelivered',
  text: `UPDATE charges SET state = 'released', closed = ?
    WHERE request = ? AND state = 'open'`,
}
/** Repeating it is harmless, since `request` is unique. */
const REFUND: Sql = {
  name: 'ledger: refund undelivered',
  text: `INSERT INTO credits (id, account, kind, amount, request, note, at)
    SELECT (SELECT coalesce(max(id), 0) + 1 FROM credits), account, 'refund', amount, request, 'not delivered', CAST(? AS BIGINT)
    FROM charges WHERE request = ? AND state = 'settled' AND amount > 0
    ON CONFLICT (request) DO NOTHING RETURNING request`,
}

/** Releases an open charge and refunds a settled one. The first statement returns a row where the
 *  books keep its hold, the last one if it made a refund. `wallets`: those of the charge. */
export const refundStatements = (
  request: string,
  wallets: readonly number[],
  at: number,
): readonly Statement[] => [
  { sql: IS_KEPT, values: [request] },
  { sql: RELEASE_OPEN, values: [at, request] },
  { sql: REFUND, values: [at, request], locks: wallets.map(lockOf) },
]

const IS_SETTLED: Sql = {
  name: 'ledger: is settled',
  text: "SELECT request FROM charges WHERE request = ? AND state = 'settled'",
}
/** Releases the charge of a call without a client unless its settlement was written, together with
 *  what the call stored. The last statement returns a row where it was. */
export const releaseUnlessSettled = (request: string, at: number): readonly Statement[] => [
  { sql: RELEASE_OPEN, values: [at, request] },
  { sql: IS_SETTLED, values: [request] },
]
