/** API keys and system tokens as commands print them. */
import type { KeyView } from '../views.ts'

/** The columns of every key. */
export const shortRow = ({ id, account, name, key, state, created, expires }: KeyView) => {
  return { id, account, name, key, state, created, expires: expires ?? 'never' }
}
export const keyRow = (key: KeyView) => ({
  ...shortRow(key),
  models: key.models?.join(',') ?? 'all',
  limits:
    Object.entries(key.limits ?? {})
      .map(([kind, limit]) => `${kind}=${limit}`)
      .join(',') || '-',
  quota: quotaText(key),
  used: key.used ?? '-',
})
const quotaText = ({ quota, quota_period: period, remaining }: KeyView): string => {
  if (quota === null) return '-'
  return `${remaining} of ${quota}${period === null ? '' : `/${period}`}`
}
