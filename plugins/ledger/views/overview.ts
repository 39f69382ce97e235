/** Sums of an account's calls by day and model, for the charts of the console. */
import type { Sql } from '../../../engine/plugin.ts'

const textWith = (meter: (name: string) => string): string => `
  SELECT c.opened / 86400000 AS day, c.model, count(*) AS calls,
    sum(CASE WHEN c.state = 'released' THEN 1 ELSE 0 END) AS failed,
    CAST(sum(c.amount) AS BIGINT) AS amount, CAST(coalesce(sum(r.amount), 0) AS BIGINT) AS refunded,
    CAST(coalesce(sum(${meter('input')}), 0) AS BIGINT) AS input,
    CAST(coalesce(sum(${meter('cached')}), 0) AS BIGINT) AS cached
  FROM charges c LEFT JOIN credits r ON r.request = c.request
  WHERE c.account = ? AND c.opened >= ? AND c.opened < ? AND c.state <> 'open'
  GROUP BY 1, 2 ORDER BY 1, 2 LIMIT ?`

/** Parameters: account, from, to, row count. Days are numbered from 1970, UTC. `failed`: calls that
 *  were not charged. */
export const BY_DAY_AND_MODEL: Sql = {
  name: 'ledger: by day and model',
  text: textWith(name => `json_extract(c.usage, '$.${name}')`),
  postgres: textWith(name => `CAST(CAST(c.usage AS json) ->> '${name}' AS NUMERIC)`),
}
