/** Sums of what could not be collected of charges, by model. */
import type { Sql } from '../../../engine/plugin.ts'

/** Parameters: since when, ms since 1970. Amounts in nanos. */
export const UNCOLLECTED_SINCE: Sql = {
  name: 'ledger: uncollected since',
  text: `SELECT model, CAST(sum(uncollected) AS BIGINT) AS amount, count(*) AS calls
   FROM charges WHERE uncollected > 0 AND opened >= ? GROUP BY model ORDER BY model LIMIT 1000`,
}
