/** The limits of a key or an account, for operators: rates, concurrency, and where its requests are
 *  processed. */
import type { Limits } from '../../../views.ts'
import { formatNumber } from '../format.ts'
import { text } from '../texts.ts'

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

/** The fields of a dialog of an operator. */
export const LIMIT_FIELDS = [
  'limits.requests',
  'limits.tokens',
  'limits.concurrency',
  'limits.zone',
  'limits.retention',
  'limits.tags',
]
