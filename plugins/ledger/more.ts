/** More money for a call that is under way. */
import type { Lack, Ledger, Payer } from './ledger.ts'

/** Looks for what the account still has, when it does not have all of it: others may be at it as well. */
const TRIES = 3

/** Whose money does not cover it. A store that has no answer is asked once more before it counts as an account without
 *  money: what was used cannot be had back. `process`: under whose name the call began. If that was buried meanwhile, what was
 *  taken under the next one is not the call's, and goes back. */
export const takeMore = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<Lack | undefined> => {
  const lack = await ledger
    .take(payer, amount)
    .catch(() => ledger.take(payer, amount).catch(() => 'account' as const))
  if (lack || ledger.goesBy(process)) return lack
  ledger.give(payer, amount, await ledger.process())
  return 'account'
}

/** As much of it as lies free; nothing where the store has no answer. */
export const takeWhatIs = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<bigint> => {
  if (!(await takeMore(ledger, payer, amount, process))) return amount
  for (let left = TRIES; left > 0; left--) {
    const room = await ledger.room(payer).catch(() => 0n)
    const rest = room < amount ? room : amount
    if (rest <= 0n) break
    if (!(await takeMore(ledger, payer, rest, process))) return rest
  }
  return 0n
}
