/** The price of a task in the credits of video APIs. */
import type { HostBase } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { priceKept } from '../ledger/kept-hold.ts'
import type { Task } from './task.ts'
import { usageAtEnd } from './usage.ts'

const CODE = 'CREDIT'

/** Rounded to the nearest whole credit. Before the end of a task whose request does not say how
 *  much is made, it is the highest cost. 0 if the configuration has no rate for credits. */
export const creditsOf = (task: Task, host: Pick<HostBase, 'section'>): number => {
  const rate = configuredCurrency(host).rates.get(CODE)
  const usage = usageAtEnd(task)
  if (!task.hold || !usage || rate === undefined) return 0
  const { charged } = priceKept(task.hold, usage)
  return Number((charged * 2n + rate) / (rate * 2n))
}
