/** Money for accounts: configurations with prices serve nobody without it. */
import { type OpenDatabase, openDatabase } from '../../engine/store/database.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'

/** Units of the currency. */
const MUCH = 1_000_000n * 10n ** 9n

/** Nanos, where the ledger's tables are. */
export const giveCredit = async (
  database: Pick<OpenDatabase, 'write'>,
  account: number,
  amount: bigint,
  at = Date.now(),
): Promise<void> => {
  const credit = { account, kind: 'credit', amount, note: 'test', at } as const
  await database.write([openWallet(walletOf.account(account), 0n), addCredit(credit)])
}
/** For the account that the first start makes. `data`: the data folder of a gateway that runs on SQLite. */
export const creditAdmin = async (data: string, amount = MUCH): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 10_000 })
  await giveCredit(database, 1, amount)
  await database.close()
}
