/** Quotas of API keys: for life, or for each day or month. A renewal adds the quota of a period to
 *  what the key has used, so that holds, charges and the audit know one kind of quota. */
import type { Database, Log, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { parseQuota, quotaOf } from '../../billing/money.ts'
import {
  type PeriodName,
  type QuotaChange,
  quotaSettingOf,
  startOf,
  storedQuotaOf,
} from '../../credentials/quota.ts'
import { endedPeriods, renewQuota, setQuota } from '../../credentials/statements.ts'
import { isCode } from '../faults.ts'
import { nanosOf } from '../statements.ts'
import { writeWithRetry } from '../write-with-retry.ts'
import { changeQuota, withFunds } from './wallets.ts'

/** Changes the quota of a key: a row of keys with its funds. Rejects with QUOTA_IN_USE or
 *  KEY_UNKNOWN. */
export const changeKeyQuota = (
  row: Row,
  change: QuotaChange,
  now: number,
): readonly Statement[] => {
  const { quota, quota_period } = change
  if (quota === undefined && quota_period === undefined) return []
  const before = quotaSettingOf(row)
  const merged = {
    quota: quota === undefined ? before.quota : quota,
    quota_period: quota_period === undefined ? before.quota_period : quota_period,
  }
  // The key's use in this period still counts.
  const isSamePeriod = before.quota_period !== null && before.quota_period === merged.quota_period
  const base = isSamePeriod ? Number(row.quota) - Number(row.period_quota) : usedBy(row)
  const after = storedQuotaOf(merged, base, now)
  return [
    ...setQuota(Number(row.id), after),
    ...changeQuota(Number(row.id), nanosIn(row.quota), nanosIn(after.total)),
  ]
}
const usedBy = (row: Row): number => Number(quotaOf(nanosOf(row.own_used)))
const nanosIn = (quota: unknown): bigint | undefined =>
  quota === null ? undefined : parseQuota(quota)

const PERIODS: readonly PeriodName[] = ['day', 'month']
const ENDED: Sql = { name: 'ledger: ended periods', text: withFunds(endedPeriods) }
const PAGE = 500

/** Renews the quotas whose period has ended. */
export const renewQuotas = async (
  { database, log }: { readonly database: Database; readonly log: Pick<Log, 'info'> },
  now: number,
  signal?: AbortSignal,
): Promise<void> => {
  for (const name of PERIODS) {
    const start = startOf(name, now)
    let count = 0
    for await (const rows of database.pages(ENDED, [name, start, 0], PAGE)) {
      if (signal?.aborted) return
      const results = await Promise.all(rows.map(row => renew(database, row, name, start)))
      count += results.filter(Boolean).length
    }
    if (count > 0) log.info({ period: name, count }, 'renewed the quotas of API keys')
  }
}
const renew = async (
  database: Database,
  row: Row,
  name: PeriodName,
  start: number,
): Promise<boolean> => {
  const units = Number(row.period_quota)
  const total = usedBy(row) + units
  const list = [
    ...renewQuota(Number(row.id), total, { name, units, start }),
    ...changeQuota(Number(row.id), nanosIn(row.quota), nanosIn(total)),
  ]
  try {
    await writeWithRetry(database, list)
    return true
  } catch (error) {
    // Changed meanwhile, or running calls hold more than the whole quota: the next round renews it.
    if (isCode(error, 'KEY_UNKNOWN', 'QUOTA_IN_USE')) return false
    throw error
  }
}
