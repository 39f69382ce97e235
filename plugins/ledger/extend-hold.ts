/** Extends the hold of a call that is in progress. */
import type { Ledger, Payer, Shortage } from './ledger.ts'

/** Attempts to take the available balance, since other calls may take it at the same time. */
const ATTEMPTS = 3

/** Takes `amount` nanos more. Returns the shortage, or undefined. Retries once where the store
 *  fails, since the usage has already happened; a second failure counts as a shortage. `process`:
 *  the name under which the call began. If the store has reaped it, the nanos taken under the next
 *  name return. */
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

/** Takes up to `amount` nanos and returns the amount taken; 0 where the store fails. */
export const takeAvailable = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<bigint> => {
  if (!(await extendHold(ledger, payer, amount, process))) return amount
  for (let remainingAttempts = ATTEMPTS; remainingAttempts > 0; remainingAttempts--) {
    const room = await ledger.available(payer).catch(() => 0n)
    const rest = room < amount ? room : amount
    if (rest <= 0n) break
    if (!(await extendHold(ledger, payer, rest, process))) return rest
  }
  return 0n
}
