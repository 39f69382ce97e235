/** Sums of an account's statement: its money before a day and within days. Charges belong
 *  to the day on which their call began (UTC), as in `usage_days`; credits to the day of their
 *  entry. */
import type { Database, Row, Sql } from '../../../engine/plugin.ts'
import { madeByCaller } from '../../calls/call-member.ts'
import { nanosOf } from '../statements.ts'
import { periodOfAccount } from './usage-days.ts'

const sql = (name: string, text: string): Sql => ({ name: `statements: ${name}`, text })
const DAY = 86_400_000
const credits = (kind: string, column = 'amount'): string =>
  `(SELECT CAST(coalesce(sum(${column}), 0) AS BIGINT) FROM credits WHERE account = p.account AND kind = '${kind}' AND at >= p.first * ${DAY} AND at < p.last * ${DAY})`

/** Parameters: account, first day, day after the last. */
const TOTALS = sql(
  'totals',
  `SELECT
    (SELECT CAST(coalesce(sum(amount - planned), 0) AS BIGINT) FROM credits WHERE account = p.account AND at < p.first * ${DAY})
      - (SELECT CAST(coalesce(sum(amount - planned), 0) AS BIGINT) FROM usage_days WHERE account = p.account AND day < p.first) AS opening,
    ${credits('credit')} AS credited, ${credits('debit')} AS debited, ${credits('refund')} AS refunded,
    (SELECT CAST(coalesce(sum(planned), 0) AS BIGINT) FROM usage_days WHERE account = p.account AND day >= p.first AND day < p.last)
      - ${credits('refund', 'planned')} AS planned,
    (SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM usage_days WHERE account = p.account AND day >= p.first AND day < p.last) AS charged,
    (SELECT count(*) FROM charges WHERE account = p.account AND state = 'open' AND opened >= p.first * ${DAY} AND opened < p.last * ${DAY}) AS pending
   FROM (SELECT CAST(? AS BIGINT) AS account, CAST(? AS BIGINT) AS first, CAST(? AS BIGINT) AS last) p`,
)
/** Of a statement. */
const MOST_TAGS = 1_000
const sums = (...columns: readonly string[]): string =>
  columns.map(each => `CAST(sum(${each}) AS BIGINT) AS ${each}`).join(', ')
const COUNTS = ['calls', 'amount', 'refunded', 'input', 'cached', 'output']
/** A key that has moved has a row of sums for each of its members. */
const LINES = sql(
  'lines',
  `SELECT day, ${madeByCaller('key').key} AS number, model, ${sums('failed', ...COUNTS)}
   FROM usage_days WHERE day >= ? AND day < ? AND account = ?
   GROUP BY day, number, model ORDER BY day, model, number`,
)

/** The most costly tags of these days. A call with two tags counts for both: the sums do not add up
 *  to the charges. */
const TAGS = sql(
  'tags',
  `SELECT tag, ${sums(...COUNTS)}
   FROM (${periodOfAccount('tag_days', 'u.*')}) u GROUP BY tag
   ORDER BY amount DESC, tag LIMIT ${MOST_TAGS}`,
)

/** Days since 1970, `last` exclusive. */
export interface Days {
  readonly first: number
  readonly last: number
}
/** Amounts in nanos; `debited` is negative. */
export interface Totals {
  readonly opening: bigint
  readonly credited: bigint
  readonly debited: bigint
  readonly refunded: bigint
  readonly charged: bigint
  /** The part of the charges that plans paid, less the part that refunds returned to them. */
  readonly planned: bigint
  readonly closing: bigint
  /** Calls and tasks that began in these days and are not charged yet. */
  readonly pending: number
}
export interface StatementLine extends StatementCounts {
  readonly day: number
  /** The number of the API key; 0 for calls without one. */
  readonly key: number
  readonly model: string
  readonly failed: number
}
export interface TagLine extends StatementCounts {
  /** Such as `project=alpha`. */
  readonly tag: string
}
export interface StatementCounts {
  readonly calls: number
  /** Without the cached part. */
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly amount: bigint
  /** Of the calls of this line, whenever they were refunded. */
  readonly refunded: bigint
}

const ATTEMPTS = 5
/** Totals and lines that add up: they are read again where a charge came between. */
export const readStatement = async (
  database: Pick<Database, 'read'>,
  account: number,
  { first, last }: Days,
): Promise<
  Totals & { readonly lines: readonly StatementLine[]; readonly tags: readonly TagLine[] }
> => {
  for (let attempt = 1; ; attempt++) {
    const [row] = await database.read(TOTALS, [account, first, last])
    const lines = (await database.read(LINES, [first, last, account])).map(lineOf)
    const totals = totalsOf(row ?? {})
    const sum = lines.reduce((all, { amount }) => all + amount, 0n)
    if (sum === totals.charged) {
      const tags = await database.read(TAGS, [first, last, last, account])
      return {
        ...totals,
        lines,
        tags: tags.map(each => ({ tag: String(each.tag), ...countsOf(each) })),
      }
    }
    if (attempt === ATTEMPTS) throw new Error(`the days of account ${account} do not add up`)
  }
}
const totalsOf = (row: Row): Totals => {
  const [opening, credited, debited, refunded, charged, planned] = [
    nanosOf(row.opening),
    nanosOf(row.credited),
    nanosOf(row.debited),
    nanosOf(row.refunded),
    nanosOf(row.charged),
    nanosOf(row.planned),
  ]
  const closing = opening + credited + debited + refunded + planned - charged
  const pending = Number(row.pending ?? 0)
  return { opening, credited, debited, refunded, charged, planned, closing, pending }
}
const lineOf = (row: Row): StatementLine => ({
  day: Number(row.day),
  key: Number(row.number),
  model: String(row.model),
  failed: Number(row.failed),
  ...countsOf(row),
})
const countsOf = (row: Row): StatementCounts => ({
  calls: Number(row.calls),
  input: Number(row.input),
  cached: Number(row.cached),
  output: Number(row.output),
  amount: nanosOf(row.amount),
  refunded: nanosOf(row.refunded),
})
