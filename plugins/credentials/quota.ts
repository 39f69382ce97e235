/** The quota of an API key: for life, or for each day or month by UTC. Pure. */
import type { Row } from '../../engine/plugin.ts'

/** The stored values, in quota units. */
export interface Quota {
  /** The whole amount until the next renewal; null: no quota. */
  readonly total: number | null
  readonly period: QuotaPeriod | null
}
export interface QuotaPeriod {
  readonly name: 'day' | 'month'
  /** The amount of each. */
  readonly units: number
  /** ms since 1970. */
  readonly start: number
}
export type PeriodName = QuotaPeriod['name']

/** The values that an owner sets, in quota units. Members that are undefined stay unchanged; null
 *  removes the quota. */
export interface QuotaChange {
  readonly quota?: number | null | undefined
  readonly quota_period?: PeriodName | null | undefined
}
/** The quota of a key as its owner set it. `row`: of `api_keys`. */
export const quotaSettingOf = ({ quota, quota_period: name, period_quota: units }: Row) => ({
  quota: quota === null ? null : Number(units ?? quota),
  quota_period: (name ?? null) as PeriodName | null,
})

/** The quota as it is stored. `usedBefore`: units that the key had used when the period began. */
export const storedQuotaOf = (
  { quota = null, quota_period: name = null }: QuotaChange,
  usedBefore: number,
  now: number,
): Quota => {
  if (quota === null || name === null) return { total: quota, period: null }
  return { total: usedBefore + quota, period: { name, units: quota, start: startOf(name, now) } }
}
/** The first instant of the period that holds `now`, ms since 1970. */
export const startOf = (name: PeriodName, now: number): number => {
  const date = new Date(now)
  const day = name === 'day' ? date.getUTCDate() : 1
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day)
}
