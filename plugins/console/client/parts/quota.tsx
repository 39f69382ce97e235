/** The quota of an API key: for life, or for each day or month. */

import type { QuotaSetting } from '../../../views.ts'
import type { ApiError } from '../api.ts'
import { formatNumber } from '../format.ts'
import { text } from '../texts.ts'
import { Field } from './form.tsx'
import { useCurrency } from './values.tsx'

export const quotaText = ({ quota, quota_period: period }: QuotaSetting): string => {
  if (quota === null) return text('none')
  const number = formatNumber(quota)
  return period === null ? number : text(`keys.period.of.${period}`, { quota: number })
}

/** Both as the form has them: empty for no quota, and for its whole life. */
export interface QuotaDraft {
  readonly quota: string
  readonly period: string
}
export const quotaDraft = (key?: QuotaSetting): QuotaDraft => ({
  quota: key?.quota == null ? '' : String(key.quota),
  period: key?.quota_period ?? '',
})
/** The members for the API. */
export const quotaBody = ({ quota, period }: QuotaDraft) => {
  if (quota === '') return { quota: null }
  return { quota: Number(quota), quota_period: period === '' ? null : period }
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
        label={`${text('keys.quota')} (${text('optional')})`}
        help={text('keys.quota.help', { currency })}
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
