/** Sums of an account's statement: its money before a day and within days. Charges belong
 *  to the day on which their call began (UTC), as in `usage_days`; credits to the day of their
 *  entry. */
import type { Database, Row, Sql } from '../../../engine/plugin.ts'
import { madeByCaller, memberOfCall } from '../../calls/call-member.ts'
import { memberName, presentName } from '../../credentials/members.ts'
import { nanosOf } from '../statements.ts'
import { periodOfAccount } from './usage-days.ts'

const sql = (name: string, text: string): Sql => ({ name: `statements: ${name}`, text })
const DAY = 86_400_000
const total = (amount: string, condition: string): string =>
  `CAST(coalesce(sum(CASE WHEN ${condition} THEN ${amount} ELSE 0 END), 0) AS BIGINT)`
const paid = (kind: string, amount = 'c.amount'): string =>
  total(amount, `c.at >= p.first * ${DAY} AND c.kind = '${kind}'`)

/** One search a day finds the sums of the account, from the first day that the ledger has. Open
 *  calls are counted by their request, which the index of all calls does not have: SQLite would
 *  read that one else. Parameters: account, first day, day after the last. */
export const TOTALS = sql(
  'totals',
  `WITH RECURSIVE
   p (account, first, last) AS (SELECT CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)),
   days (day) AS (
     SELECT coalesce((SELECT min(day) FROM usage_days), first) FROM p
     UNION ALL SELECT d.day + 1 FROM days d CROSS JOIN p WHERE d.day + 1 < p.last),
   used AS (
     SELECT ${total('u.amount - u.planned', 'u.day < p.first')} AS earlier,
       ${total('u.amount', 'u.day >= p.first')} AS charged,
       ${total('u.planned', 'u.day >= p.first')} AS planned
     FROM p CROSS JOIN days d CROSS JOIN usage_days u
     WHERE u.day = d.day AND u.day < p.last AND u.account = p.account),
   paid AS (
     SELECT ${total('c.amount - c.planned', `c.at < p.first * ${DAY}`)} AS earlier,
       ${paid('credit')} AS credited, ${paid('debit')} AS debited, ${paid('refund')} AS refunded,
       ${paid('refund', 'c.planned')} AS planned
     FROM p CROSS JOIN credits c WHERE c.account = p.account AND c.at < p.last * ${DAY})
   SELECT paid.earlier - used.earlier AS opening, paid.credited, paid.debited, paid.refunded,
     used.planned - paid.planned AS planned, used.charged,
     (SELECT count(c.request) FROM charges c WHERE c.account = p.account AND c.state = 'open'
       AND +c.opened >= p.first * ${DAY} AND +c.opened < p.last * ${DAY}) AS pending
   FROM p CROSS JOIN used CROSS JOIN paid`,
)
/** Of a statement. */
const MOST_TAGS = 1_000
const sums = (...columns: readonly string[]): string =>
  columns.map(each => `CAST(sum(${each}) AS BIGINT) AS ${each}`).join(', ')
const COUNTS = ['calls', 'amount', 'refunded', 'input', 'cached', 'output']
const CALLER = madeByCaller('u.key')
/** A key that has moved has a row of sums for each of its members. */
export const LINES = sql(
  'lines',
  `SELECT s.*, ${memberName('s.member')} AS member_name
   FROM (SELECT day, number, member, model, ${sums('failed', ...COUNTS)}
     FROM (SELECT u.*, ${CALLER.key} AS number, ${memberOfCall(CALLER)} AS member
       FROM (${periodOfAccount('usage_days', 'u.*')}) u) lines
     GROUP BY day, number, member, model) s
   ORDER BY s.day, s.model, s.number, s.member`,
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
  /** The number of the member who made the calls; 0: the account itself. */
  readonly member: number
  /** Null: the account itself. */
  readonly memberName: string | null
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
    const lines = (await database.read(LINES, [first, last, last, account])).map(lineOf)
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
  member: Number(row.member),
  memberName: row.member_name == null ? null : presentName(String(row.member_name)),
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
