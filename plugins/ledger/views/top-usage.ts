/** Lists of the accounts and keys with the largest charges of the last days, kept by a job: where
 *  many accounts call each day, their sums are too many to be added up while a page waits.
 *
 *  usage_days ──a part of the accounts at a time──▶ the largest sums ──▶ usage_tops */
import { DURATIONS } from '../../../engine/kit.ts'
import type { Database, Row, Sql, Statement, Value } from '../../../engine/plugin.ts'
import { USAGE_SUMS } from './usage.ts'
import { callerColumns, dayOf, periodOfAccounts, TOKEN_COLUMNS } from './usage-days.ts'

/** `name`: the number of an account or a key; key 0: without a key. `at`: ms since 1970, when the
 *  list was made. */
export const USAGE_TOPS = `
  CREATE TABLE usage_tops (
    kind TEXT NOT NULL,
    days BIGINT NOT NULL,
    place BIGINT NOT NULL,
    at BIGINT NOT NULL,
    name BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    refunded BIGINT NOT NULL,
    input BIGINT NOT NULL,
    cached BIGINT NOT NULL,
    output BIGINT NOT NULL,
    PRIMARY KEY (kind, days, place)) WITHOUT ROWID`

const sql = (name: string, text: string, postgres?: string): Sql => ({
  name: `ledger: ${name}`,
  text,
  ...(postgres !== undefined && { postgres }),
})
const SUMS = ['calls', 'amount', 'refunded', ...TOKEN_COLUMNS] as const
type Kind = 'account' | 'key'
const KINDS = ['account', 'key'] as const satisfies readonly Kind[]
/** The periods that have lists, in days before today. */
const PERIODS = [7, 30] as const
/** Rows of a list; pages ask for no more. */
const MOST = 1_000
/** A period with fewer rows of `usage_days` has no list: its sums are added up when a page asks. */
const MANY = 30_000
/** The number of accounts that one read of the job adds up. */
const PART = 500
/** ms; a list that is older is not shown. */
const STALE = DURATIONS.h
/** Above the number of any account. */
const NO_MORE = 2 ** 52

// ---------------------------------------------------------------- statements

const HAS_MANY = sql(
  'many sums',
  'SELECT 1 AS one FROM usage_days WHERE day >= ? ORDER BY day LIMIT 1 OFFSET ?',
)
const PART_END = sql(
  'end of a part',
  'SELECT account FROM wallets WHERE account > ? ORDER BY account LIMIT 1 OFFSET ?',
)
/** The largest sums of some accounts. Parameters: first day, day after the last (twice), the
 *  account before the first, the last account, the amount and name of the last row of the list so
 *  far (amount twice). Calls without a key are of many accounts: their sum is added up. */
export const topsOfPart = (kind: Kind): Sql => {
  const text = `SELECT u.${kind} AS name, ${USAGE_SUMS}
   FROM (${periodOfAccounts('usage_days', `u.account, ${callerColumns('u')}, ${SUMS.map(each => `u.${each}`).join(', ')}`)}) u
   GROUP BY u.${kind} HAVING sum(u.calls) > 0
     AND (sum(u.amount) > CAST(? AS BIGINT) OR (sum(u.amount) = CAST(? AS BIGINT) AND u.${kind} < ?)
       ${kind === 'key' ? 'OR u.key = 0' : ''})
   ORDER BY ${kind === 'key' ? 'CASE WHEN u.key = 0 THEN 0 ELSE 1 END, ' : ''}amount DESC, name LIMIT ${MOST}`
  return sql(`top ${kind}s of a part`, text)
}
const TOPS_OF_PART = { account: topsOfPart('account'), key: topsOfPart('key') } as const

const DELETE = sql('old tops', 'DELETE FROM usage_tops WHERE kind = ? AND days = ?')
const COLUMNS = ['place', 'name', ...SUMS] as const
const insertFrom = (rows: string): string =>
  `INSERT INTO usage_tops (kind, days, at, ${COLUMNS.join(', ')})
   SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), ${COLUMNS.map((_, at) => `CAST(r.value ->> ${at} AS BIGINT)`).join(', ')}
   FROM ${rows}`
const INSERT = sql(
  'tops',
  insertFrom('json_each(?) r'),
  insertFrom('json_array_elements(CAST(? AS json)) AS r (value)'),
)
/** Parameters: kind, days, ms since 1970 of the oldest list that is shown, row count. `withNames`
 *  adds columns to the rows of a statement. */
export const keptTops = (kind: Kind, withNames: (text: string) => string): Sql =>
  sql(
    `kept top ${kind}s`,
    withNames(`SELECT t.name, ${SUMS.map(each => `t.${each}`).join(', ')} FROM usage_tops t
     WHERE t.kind = ? AND t.days = ? AND t.at >= ? AND t.place <= ?`),
  )
/** The values of `keptTops`; undefined if the period has no list. */
export const keptValues = (
  kind: Kind,
  days: number,
  { now, top }: { readonly now: number; readonly top: number },
): readonly Value[] | undefined =>
  PERIODS.some(each => each === days) && top <= MOST ? [kind, days, now - STALE, top] : undefined
/** The first of the whole days of a period that ends now. */
export const firstDayOf = (days: number, now: number): number => dayOf(now) - days

// ---------------------------------------------------------------- job

export interface TopsOptions {
  readonly many?: number
  readonly part?: number
}
type Store = Pick<Database, 'read' | 'write'>
/** Makes all lists anew, and removes those of periods with few sums. `reader`: of the sums, which
 *  may wait between its reads. */
export const keepTops = async (
  database: Store,
  reader: Pick<Database, 'read'>,
  now: number,
  { many = MANY, part = PART }: TopsOptions = {},
): Promise<void> => {
  for (const days of PERIODS) {
    const period = { first: firstDayOf(days, now), end: dayOf(now) + 2 }
    const isLarge = (await reader.read(HAS_MANY, [period.first, many - 1])).length > 0
    const tops = isLarge ? await topsIn(reader, period, part) : undefined
    await database.write(KINDS.flatMap(kind => listOf(kind, days, now, tops?.[kind])))
  }
}
const listOf = (
  kind: Kind,
  days: number,
  now: number,
  rows: readonly Top[] | undefined,
): readonly Statement[] => {
  const list = rows?.map(({ name, sums }, place) => [place + 1, name, ...sums].map(String))
  return [
    { sql: DELETE, values: [kind, days] },
    ...(list ? [{ sql: INSERT, values: [kind, days, now, JSON.stringify(list)] }] : []),
  ]
}

interface Top {
  readonly name: number
  /** In the order of `SUMS`. */
  readonly sums: readonly bigint[]
}
interface Days {
  readonly first: number
  readonly end: number
}
const amountOf = ({ sums: [, amount = 0n] }: Top): bigint => amount
const byAmount = (one: Top, other: Top): number => {
  const [a, b] = [amountOf(one), amountOf(other)]
  return a === b ? one.name - other.name : a > b ? -1 : 1
}
const topsIn = async (
  reader: Pick<Database, 'read'>,
  { first, end }: Days,
  part: number,
): Promise<Readonly<Record<Kind, readonly Top[]>>> => {
  const tops: Record<Kind, readonly Top[]> = { account: [], key: [] }
  let keyless: readonly Top[] = []
  for (let after = -1; after < NO_MORE; ) {
    const [row] = await reader.read(PART_END, [after, part - 1])
    const last = row ? Number(row.account) : NO_MORE
    for (const kind of KINDS) {
      const lowest = tops[kind].length < MOST ? undefined : tops[kind].at(-1)
      const amount = lowest ? amountOf(lowest) : -1n
      const values = [first, end, end, after, last, amount, amount, lowest?.name ?? 0]
      const sums = (await reader.read(TOPS_OF_PART[kind], values)).map(topOf)
      const isKeyless = ({ name }: Top) => kind === 'key' && name === 0
      keyless = [...keyless, ...sums.filter(isKeyless)]
      tops[kind] = largest([...tops[kind], ...sums.filter(each => !isKeyless(each))])
    }
    after = last
  }
  return { ...tops, key: largest([...tops.key, ...added(keyless)]) }
}
const topOf = (row: Row): Top => ({
  name: Number(row.name),
  sums: SUMS.map(each => BigInt(row[each] as number)),
})
const largest = (tops: readonly Top[]): readonly Top[] => tops.toSorted(byAmount).slice(0, MOST)
/** One row of all; none of none. */
const added = (tops: readonly Top[]): readonly Top[] => {
  const [first] = tops
  const sumAt = (at: number) => tops.reduce((sum, { sums }) => sum + (sums[at] ?? 0n), 0n)
  return first ? [{ name: first.name, sums: SUMS.map((_, at) => sumAt(at)) }] : []
}
