/** Extends the hold of a call that is in progress. */
import type { Ledger, Payer, Shortage } from './ledger.ts'

/** Attempts to take the available balance: other calls may take it at the same time. */
const ATTEMPTS = 3

/** Takes `amount` nanos more. Returns who lacks them, or undefined. A store that fails is asked once
 *  more before it counts as an account without money, since the usage has already happened.
 *  `process`: the name under which the call began. If that was reaped meanwhile, what was taken
 *  under the next name goes back. */
export const extendHold = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<Shortage | undefined> => {
  const shortage = await ledger
    .take(payer, amount)
    .catch(() => ledger.take(payer, amount).catch(() => 'account' as const))
  if (shortage || ledger.isCurrentProcess(process)) return shortage
  ledger.give(payer, amount, await ledger.process())
  return 'account'
}

/** Takes up to `amount` nanos and returns how much; 0 where the store fails. */
export const takeAvailable = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<bigint> => {
  if (!(await extendHold(ledger, payer, amount, process))) return amount
  for (let left = ATTEMPTS; left > 0; left--) {
    const room = await ledger.available(payer).catch(() => 0n)
    const rest = room < amount ? room : amount
    if (rest <= 0n) break
    if (!(await extendHold(ledger, payer, rest, process))) return rest
  }
  return 0n
}
