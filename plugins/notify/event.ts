/** The body of the low-balance event. Pure. */
import { balanceOf } from '../billing/money.ts'

const TOPIC = 'user_quota_too_low'

/** The specification fixes the format. `balance`: nanos; the body has units of the currency. */
export const eventBody = (balance: bigint): string =>
  JSON.stringify({ topic: TOPIC, data: { quota: Number(balanceOf(balance)) } })
