/** Money for the account that the first start makes: configurations with prices serve nobody without it. */
import { openDatabase } from '../../engine/database/database.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'

/** Units of the currency. */
const MUCH = 1_000_000n * 10n ** 9n

/** `data`: the data folder of a gateway that runs on SQLite. */
export const creditAdmin = async (data: string, amount = MUCH): Promise<void> => {
  const database = await openDatabase({ url: 'sqlite:', data, patience: 10_000 })
  const credit = { account: 1, kind: 'credit', amount, note: 'test', at: Date.now() } as const
  await database.write([openWallet(walletOf.account(1), 0n), addCredit(credit)])
  await database.close()
}
