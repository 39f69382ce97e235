/** Credits by the reference of their payer: however often a payment is reported, it is credited
 *  once. */
import { errors } from '../../../engine/errors.ts'
import { isCode } from '../../../engine/kit.ts'
import type { Database, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { nanosOf } from '../statements.ts'
import { creditAccount } from '../views/wallets.ts'

const fault = errors({
  PAYMENT_DIFFERS: [
    409,
    'The reference "%s" was credited before, with another account or amount',
    { param: 'reference' },
  ],
})
const sql = (name: string, text: string): Sql => ({ name: `payments: ${name}`, text })
const ADD = sql('add', 'INSERT INTO payments (reference, account, amount, at) VALUES (?, ?, ?, ?)')
const FIND = sql('find', 'SELECT account, amount FROM payments WHERE reference = ?')

export interface Payment {
  readonly account: number
  /** Nanos, above 0. */
  readonly amount: bigint
  /** 1 to 200 characters, unique over all payers. */
  readonly reference: string
  readonly note: string
}
type Write = (list: readonly Statement[]) => Promise<readonly (readonly Row[])[]>

/** Whether a payment with this reference was credited. */
export const isKnownPayment = async (
  database: Pick<Database, 'read'>,
  reference: string,
): Promise<boolean> => (await database.read(FIND, [reference])).length > 0

/** Resolves to whether it had been credited before. Rejects with PAYMENT_DIFFERS, or like
 *  `creditAccount`. `write` repeats the list while its result is unknown. */
export const creditPayment = async (
  database: Pick<Database, 'read' | 'now'>,
  { account, amount, reference, note }: Payment,
  write: Write,
): Promise<boolean> => {
  const at = await database.now()
  const violates = { payments_pkey: 'PAYMENT_KNOWN', 'payments.reference': 'PAYMENT_KNOWN' }
  const add = { sql: ADD, values: [reference, account, amount, at], rows: 1, violates }
  try {
    await write([add, ...creditAccount({ account, kind: 'credit', amount, note, at })])
    return false
  } catch (error) {
    if (!isCode(error, 'PAYMENT_KNOWN')) throw error
    const [row] = await database.read(FIND, [reference])
    if (Number(row?.account) !== account || nanosOf(row?.amount) !== amount)
      throw fault('PAYMENT_DIFFERS', [reference])
    return true
  }
}
