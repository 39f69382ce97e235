/** The quota of an API key: for life, or for each day or month. */

import type { QuotaSetting } from '../../../views.ts'
import type { ApiError } from '../api.ts'
import { splitMoney } from '../format.ts'
import { text } from '../texts.ts'
import { Field } from './form.tsx'
import { useCurrency } from './values.tsx'

/** Quota units of one unit of the currency. */
const UNITS = 500_000
/** Units as an amount of the currency. */
export const quotaMoney = (units: number): string => splitMoney(units / UNITS)[0]

/** `2.00 CNY per month`, or that there is no quota. */
export const quotaText = (
  { quota, quota_period: period }: QuotaSetting,
  currency: string,
): string => {
  if (quota === null) return text('unlimited')
  const amount = `${quotaMoney(quota)} ${currency}`
  return period === null ? amount : text(`keys.period.of.${period}`, { quota: amount })
}

/** Both as the form has them: an amount of the currency, empty for no quota, and for its whole
 *  life. */
export interface QuotaDraft {
  readonly quota: string
  readonly period: string
}
export const quotaDraft = (key?: QuotaSetting): QuotaDraft => ({
  quota: key?.quota == null ? '' : String(key.quota / UNITS),
  period: key?.quota_period ?? '',
})
/** The members for the API. */
export const quotaBody = ({ quota, period }: QuotaDraft) => {
  if (quota === '') return { quota: null }
  const units = Math.round(Number(quota) * UNITS)
  // The API says what is wrong with any other text.
  const value = Number.isSafeInteger(units) ? units : quota
  return { quota: value, quota_period: period === '' ? null : period }
}

interface QuotaFieldsProps {
  readonly draft: QuotaDraft
  onChange(draft: Partial<QuotaDraft>): void
  readonly error: ApiError | undefined
}
export const QuotaFields = ({ draft, onChange, error }: QuotaFieldsProps) => {
  const currency = useCurrency()
  return (
    <>
      <Field
        label={`${text('keys.quota')} (${currency}, ${text('optional')})`}
        help={text('keys.quota.help')}
        type="number"
        value={draft.quota}
        onChange={quota => onChange({ quota })}
        param="quota"
        error={error}
      />
      <Field
        label={text('keys.period')}
        help={text('keys.period.help')}
        value={draft.period}
        onChange={period => onChange({ period })}
        param="quota_period"
        error={error}
        options={[
          ['', text('keys.period.life')],
          ['day', text('keys.period.day')],
          ['month', text('keys.period.month')],
        ]}
      />
    </>
  )
}
