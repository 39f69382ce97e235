/** More money for a call that is under way. */
import type { Lack, Ledger, Payer } from './ledger.ts'

/** Whose money does not cover it. A store that has no answer is asked once more before it counts as an account without
 *  money: what was used cannot be had back. */
export const takeMore = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
): Promise<Lack | undefined> => {
  try {
    return await ledger.take(payer, amount)
  } catch {
    return ledger.take(payer, amount).catch(() => 'account' as const)
  }
}

/** As much of it as there is; nothing where the store has no answer. */
export const takeWhatIs = async (ledger: Ledger, payer: Payer, amount: bigint): Promise<bigint> => {
  if (!(await takeMore(ledger, payer, amount))) return amount
  const room = await ledger.room(payer).catch(() => 0n)
  const rest = room < amount ? room : amount
  return rest > 0n && !(await takeMore(ledger, payer, rest)) ? rest : 0n
}
