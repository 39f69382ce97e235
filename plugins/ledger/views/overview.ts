/** Sums of an account's calls by day and model, for the charts of the console. */
import type { Sql } from '../../../engine/plugin.ts'
import { madeIn, ofMember } from '../../calls/call-member.ts'
import { usageOfAccount } from './usage-days.ts'

const textOver = (usage: string): string => `
  SELECT u.day, u.model, CAST(sum(u.calls + u.failed) AS BIGINT) AS calls,
    CAST(sum(u.failed) AS BIGINT) AS failed, CAST(sum(u.amount) AS BIGINT) AS amount,
    CAST(sum(u.refunded) AS BIGINT) AS refunded, CAST(sum(u.input) AS BIGINT) AS input,
    CAST(sum(u.cached) AS BIGINT) AS cached, CAST(sum(u.output) AS BIGINT) AS output
  FROM (${usage}) u WHERE ${ofMember(madeIn('u'))} GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ?`

/** Parameters: `accountValuesIn`, a member (twice, null for all), row count. Days are numbered from
 *  1970, UTC. `failed`: calls that were not charged. */
export const BY_DAY_AND_MODEL: Sql = {
  name: 'ledger: by day and model',
  text: textOver(usageOfAccount.sqlite),
  postgres: textOver(usageOfAccount.postgres),
}
