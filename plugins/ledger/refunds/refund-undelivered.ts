/** Refunds a call that was refused after its charge, or while the result of its charge was
 *  unknown. */
import type { Exchange, Sql, Statement } from '../../../engine/plugin.ts'
import type { Ledger, Payer } from '../ledger.ts'
import { lockOf } from '../statements.ts'
import { walletsOf } from '../wallet.ts'

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

/** Releases an open charge and refunds a settled one. The last statement returns a row if it made a
 *  refund. */
export const refundStatements = (
  request: string,
  account: number,
  key: number | undefined,
  at: number,
): readonly Statement[] => [
  { sql: RELEASE_OPEN, values: [at, request] },
  { sql: REFUND, values: [at, request], locks: walletsOf(account, key).map(lockOf) },
]

/** Retries until the store confirms, also after a crash. `onDone` receives whether the store made a
 *  refund. */
export const refundUndelivered = (
  ledger: Pick<Ledger, 'ensureClosed'>,
  { id, writes }: Pick<Exchange, 'id' | 'writes'>,
  { account, key }: Payer,
  onDone: (isRefunded: boolean) => void,
): void => {
  const list = refundStatements(id, account, key, Date.now())
  writes.setCrashStatements(...list)
  ledger.ensureClosed(id, list, ([, refunds = []]) => {
    writes.setCrashStatements()
    onDone(refunds.length > 0)
  })
}
