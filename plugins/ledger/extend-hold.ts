/** Extends the hold of a call that is in progress. */
import type { Ledger, Payer } from './ledger.ts'
import { plannedOf } from './plans/part.ts'
import { type TakeResult, takeInOrder } from './plans/take.ts'

/** Attempts to take the available balance, since other calls may take it at the same time. */
const ATTEMPTS = 3

/** Takes `amount` nanos more. Resolves to the shortage, and to the payer with the plan's part of
 *  the amount. Retries once where the store fails, since the usage has already happened; a second
 *  failure counts as a shortage. `process`: the name under which the call began. If the store has
 *  reaped it, the nanos taken under the next name return. */
export const extendHold = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<TakeResult> => {
  const take = () => takeInOrder(ledger, payer, amount)
  const result = await take().catch(() =>
    take().catch((): TakeResult => ({ payer, shortage: 'account' })),
  )
  if (result.shortage || ledger.isCurrentProcess(process)) return result
  ledger.give(result.payer, amount, await ledger.process())
  return { payer, shortage: 'account' }
}

/** Nanos that were taken, and those of them that the plan pays. */
interface TakenPart {
  readonly amount: bigint
  readonly planned: bigint
}
const NOTHING: TakenPart = { amount: 0n, planned: 0n }
/** Takes up to `amount` nanos; none where the store fails. */
export const takeAvailable = async (
  ledger: Ledger,
  payer: Payer,
  amount: bigint,
  process: string,
): Promise<TakenPart> => {
  const takePart = async (part: bigint): Promise<TakenPart | undefined> => {
    const result = await extendHold(ledger, payer, part, process)
    return result.shortage
      ? undefined
      : { amount: part, planned: plannedOf(part, result.payer.plan) }
  }
  const whole = await takePart(amount)
  if (whole) return whole
  for (let remainingAttempts = ATTEMPTS; remainingAttempts > 0; remainingAttempts--) {
    const room = await ledger.available(payer).catch(() => 0n)
    const rest = room < amount ? room : amount
    if (rest <= 0n) break
    const part = await takePart(rest)
    if (part) return part
  }
  return NOTHING
}
