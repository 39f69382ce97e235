/** Gives accounts money: configurations with prices refuse accounts without it. */
import { type OpenDatabase, openDatabase } from '../../../engine/store/database.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'

/** Units of the currency. */
const MUCH = 1_000_000n * 10n ** 9n

/** Adds nanos to an account; the ledger's tables must exist. */
export const giveCredit = async (
  database: Pick<OpenDatabase, 'write'>,
  account: number,
  amount: bigint,
  at = Date.now(),
): Promise<void> => {
  const credit = { account, kind: 'credit', amount, note: 'test', at } as const
  await database.write([openWallet(walletOf.account(account), 0n), addCredit(credit)])
}
/** Gives money to the account of the first start. `data`: the data folder of a gateway on
 *  SQLite. */
export const creditAdmin = async (data: string, amount = MUCH): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 60_000 })
  await giveCredit(database, 1, amount)
  await database.close()
}
