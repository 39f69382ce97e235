/** The amount that a task holds, in the credits of video APIs. */
import type { HostBase } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import type { Task } from './task.ts'

const CODE = 'CREDIT'

/** Rounded to the nearest whole credit; 0 where the configuration has no rate for credits. */
export const creditsOf = (
  { hold }: Pick<Task, 'hold'>,
  host: Pick<HostBase, 'section'>,
): number => {
  const rate = configuredCurrency(host).rates.get(CODE)
  if (!hold || rate === undefined) return 0
  return Number((BigInt(hold.held) * 2n + rate) / (rate * 2n))
}
