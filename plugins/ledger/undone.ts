/** A call that was refused in the end, when its charge could not be written, or nobody knew whether it was: it costs nothing. */
import type { Exchange, Sql, Statement } from '../../engine/plugin.ts'
import type { Ledger, Payer } from './ledger.ts'
import { lockOf } from './statements.ts'
import { walletsOf } from './wallet.ts'

const UNDO: Sql = {
  name: 'ledger: undo',
  text: `UPDATE charges SET state = 'released', closed = ?
    WHERE request = ? AND state = 'open'`,
}
/** The unique request makes it harmless to repeat. */
const REFUND: Sql = {
  name: 'ledger: refund what was not delivered',
  text: `INSERT INTO credits (id, account, kind, amount, request, note, at)
    SELECT (SELECT coalesce(max(id), 0) + 1 FROM credits), account, 'refund', amount, request, 'not delivered', CAST(? AS BIGINT)
    FROM charges WHERE request = ? AND state = 'settled' AND amount > 0
    ON CONFLICT (request) DO NOTHING RETURNING request`,
}

/** Released where it was open still; where it was charged it is given back, and the last statement returns a row. */
export const undoCharge = (
  request: string,
  account: number,
  key: number | undefined,
  at: number,
): readonly Statement[] => [
  { sql: UNDO, values: [at, request] },
  { sql: REFUND, values: [at, request], locks: walletsOf(account, key).map(lockOf) },
]

/** Tried until the store has an answer, by whoever lives then; `done` is told whether there was something to give back. */
export const undo = (
  ledger: Pick<Ledger, 'ensureClosed'>,
  { id, writes }: Pick<Exchange, 'id' | 'writes'>,
  { account, key }: Payer,
  done: (refunded: boolean) => void,
): void => {
  const list = undoCharge(id, account, key, Date.now())
  writes.will(...list)
  ledger.ensureClosed(id, list, ([, refunds = []]) => {
    writes.will()
    done(refunds.length > 0)
  })
}
