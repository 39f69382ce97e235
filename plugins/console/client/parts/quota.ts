/** The quota of an API key: for life, or for each day or month. */
import type { QuotaSetting } from '../../../views.ts'
import { splitMoney } from '../format.ts'
import { amountOfUnits } from '../operation-fields.ts'
import { text } from '../texts.ts'

/** Units as an amount of the currency. */
export const quotaMoney = (units: number): string => splitMoney(amountOfUnits(units))[0]

/** `2.00 CNY per month`, or that there is no quota. */
export const quotaText = (
  { quota, quota_period: period }: QuotaSetting,
  currency: string,
): string => {
  if (quota === null) return text('unlimited')
  const amount = `${quotaMoney(quota)} ${currency}`
  return period === null ? amount : text(`keys.period.of.${period}`, { quota: amount })
}
