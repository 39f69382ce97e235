/** The limits of a key or an account, for operators: rates, concurrency, and where its requests are
 *  processed. */

import type { Limits } from '../../../views.ts'
import type { ApiError } from '../api.ts'
import { formatNumber } from '../format.ts'
import { text } from '../texts.ts'
import { Field } from './form.tsx'

/** `60 requests/min, 100,000 tokens/min, 5 at once`; empty without limits. */
export const limitsText = (limits: Limits | null): string => {
  const { requests, tokens, concurrency } = limits ?? {}
  return [
    ...(requests === undefined ? [] : [rateText('limits.requests', requests)]),
    ...(tokens === undefined ? [] : [rateText('limits.tokens', tokens)]),
    ...(concurrency === undefined
      ? []
      : [text('limits.concurrency', { n: formatNumber(concurrency) })]),
  ].join(', ')
}
const rateText = (name: 'limits.requests' | 'limits.tokens', rate: string): string => {
  const [count = '', unit = ''] = rate.split('/')
  return text(name, { n: /^\d+$/.test(count) ? formatNumber(Number(count)) : count, unit })
}

/** As the form has them: empty for the limit of the route. */
export type LimitsDraft = Readonly<Record<keyof Limits, string>>
export const limitsDraft = (limits: Limits | null): LimitsDraft => ({
  requests: limits?.requests ?? '',
  tokens: limits?.tokens ?? '',
  concurrency: String(limits?.concurrency ?? ''),
  zone: limits?.zone ?? '',
  retention: limits?.retention ?? '',
})
/** The members for the API. */
export const limitsBody = ({
  requests,
  tokens,
  concurrency,
  zone,
  retention,
}: LimitsDraft): Limits | null => {
  const limits = {
    ...(requests !== '' && { requests }),
    ...(tokens !== '' && { tokens }),
    ...(concurrency !== '' && { concurrency: Number(concurrency) }),
    ...(zone !== '' && { zone }),
    ...(retention !== '' && { retention: retention as 'none' }),
  }
  return Object.keys(limits).length === 0 ? null : limits
}

const FIELDS = [
  ['requests', 'keys.requests', 'keys.requests.help'],
  ['tokens', 'account.tokens', 'account.tokens.help'],
  ['concurrency', 'keys.concurrency', 'keys.concurrency.help'],
  ['zone', 'keys.zone', 'keys.zone.help'],
  ['retention', 'keys.retention', 'keys.retention.help'],
] as const
export const LIMIT_PARAMS = FIELDS.map(([name]) => `limits.${name}`)
interface LimitFieldsProps {
  readonly draft: LimitsDraft
  onChange(part: Partial<LimitsDraft>): void
  readonly error: ApiError | undefined
}
export const LimitFields = ({ draft, onChange, error }: LimitFieldsProps) => (
  <>
    {FIELDS.map(([name, label, help], index) => (
      <Field
        key={name}
        label={text(label)}
        help={text(help)}
        value={draft[name]}
        onChange={value => onChange({ [name]: value })}
        param={`limits.${name}`}
        error={error}
        hasFocus={index === 0}
      />
    ))}
  </>
)
