/** Opens the window of a budget or a plan under a number that no other window has. */
import type { Database, Statement } from '../../../engine/plugin.ts'
import { isCode } from '../faults.ts'
import { type Unit, windowWallet } from '../wallet.ts'
import { ADMISSION_TIMEOUT, writeWithRetry } from '../write-with-retry.ts'

/** Numbers to try: two windows share one with a chance below 1 in 10^9. */
const ATTEMPTS = 4

/** The wallet of a window. `name`: what identifies it; `attempt`: after this many windows had its
 *  number. */
export const walletOfWindow = (
  name: readonly (string | number)[],
  attempt = 0,
  unit: Unit = 'money',
): number => windowWallet([...name, attempt].join(' '), unit)

/** `listOf`: the statements that open the window with this wallet. Resolves to the wallet. */
export const openWindowAs = async (
  database: Pick<Database, 'write'>,
  name: readonly (string | number)[],
  listOf: (wallet: number) => readonly Statement[] | Promise<readonly Statement[]>,
  unit: Unit = 'money',
): Promise<number> => {
  for (let attempt = 0; ; attempt++) {
    const wallet = walletOfWindow(name, attempt, unit)
    try {
      await writeWithRetry(database, await listOf(wallet), ADMISSION_TIMEOUT)
      return wallet
    } catch (error) {
      if (!isCode(error, 'WALLET_TAKEN') || attempt === ATTEMPTS) throw error
    }
  }
}
