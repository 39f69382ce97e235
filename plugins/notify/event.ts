/** The one event that customers are sent: their balance is low. Pure. */
import { balanceOf } from '../billing/money.ts'

const TOPIC = 'user_quota_too_low'

/** Exactly what the specification shows; other facts go into headers. `balance`: nanos, told in the currency's units. */
export const eventBody = (balance: bigint): string =>
  JSON.stringify({ topic: TOPIC, data: { quota: Number(balanceOf(balance)) } })
