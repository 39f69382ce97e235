/** The statements of sums that are kept as calls end: times by account, key, member and model for
 *  customers, and sums by model and upstream for operators. */
import { DURATIONS } from '../../engine/kit.ts'
import type { Sql, Statement } from '../../engine/plugin.ts'
import { CALLER_VALUE, madeByCaller, memberOfCall, ofMember } from './call-member.ts'
import { BUCKET_COLUMNS, bucketValues, type Histogram } from './histogram.ts'
import { DAYS, IN_LIST } from './number-lists.ts'

const sql = (name: string, text: string): Sql => ({ name: `call sums: ${name}`, text })
const DAY = DURATIONS.d
export const SPANS = { hour: DURATIONS.h, day: DAY } as const
/** The span of rows that have an ended hour of all models and upstreams in one. */
const WHOLE_HOUR = -SPANS.hour

const counts = (columns: readonly string[]): string =>
  columns.map(name => `${name} BIGINT NOT NULL DEFAULT 0`).join(', ')
const SUMMED = ['calls', 'failed', 'amount', 'input', 'cached', 'output'] as const
const ALL_COLUMNS = [...SUMMED, ...BUCKET_COLUMNS]
const sumsOf = (columns: readonly string[]): string =>
  columns.map(name => `CAST(sum(c.${name}) AS BIGINT) AS ${name}`).join(', ')

/** `key`: the number of a key and a member, see `callerOf`. `span` (ms, or `WHOLE_HOUR`) and `at`:
 *  the hour or the day (UTC) in which the calls ended; `model`: the entry in `models:`;
 *  `upstream`: empty if none was asked. */
export const CALL_SUMS = `
  CREATE TABLE call_times (
    day BIGINT NOT NULL,
    account BIGINT NOT NULL,
    key BIGINT NOT NULL,
    model TEXT NOT NULL,
    ${counts(BUCKET_COLUMNS)},
    PRIMARY KEY (day, account, key, model)) WITHOUT ROWID;
  CREATE TABLE call_sums (
    span BIGINT NOT NULL,
    at BIGINT NOT NULL,
    model TEXT NOT NULL,
    upstream TEXT NOT NULL,
    ${counts(ALL_COLUMNS)},
    PRIMARY KEY (span, at, model, upstream)) WITHOUT ROWID`

/** Times of calls by each of their tags, such as `project=alpha`. `key` as in `call_times`. */
export const TAG_TIMES = `
  CREATE TABLE tag_times (
    day BIGINT NOT NULL,
    account BIGINT NOT NULL,
    key BIGINT NOT NULL,
    tag TEXT NOT NULL,
    ${counts(BUCKET_COLUMNS)},
    PRIMARY KEY (day, account, key, tag)) WITHOUT ROWID`

/** Sums of calls by decisions about them. `kind`: `rule`, `cache` or `guard`; `part`: the name of
 *  the rule, empty for calls that none held for; the result of the cache; a guard with its action,
 *  empty for all calls that guards saw. */
export const CALL_PARTS = `
  CREATE TABLE call_parts (
    span BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    part TEXT NOT NULL,
    ${counts(ALL_COLUMNS)},
    PRIMARY KEY (span, at, kind, model, part)) WITHOUT ROWID`

/** Failed calls: in rows of the model ''. Older gateways count none. */
export const FAILED_OF_CALLERS =
  'ALTER TABLE call_times ADD COLUMN failed BIGINT NOT NULL DEFAULT 0'

// ---------------------------------------------------------------- writing

/** `values`: of the columns of the key that are not one parameter. */
const addTo = (
  table: string,
  key: readonly string[],
  summed: readonly string[],
  values: Readonly<Record<string, string>> = {},
): Sql =>
  sql(
    `add to ${table}`,
    `INSERT INTO ${table} (${[...key, ...summed].join(', ')})
     VALUES (${[...key, ...summed].map(name => values[name] ?? '?').join(', ')})
     ON CONFLICT (${key.join(', ')}) DO UPDATE SET
     ${summed.map(each => `${each} = ${table}.${each} + excluded.${each}`).join(', ')}`,
  )
const OF_CALLERS = ['failed', ...BUCKET_COLUMNS]
const ADD_TIMES = addTo('call_times', ['day', 'account', 'key', 'model'], OF_CALLERS, {
  key: CALLER_VALUE,
})
const ADD_TAG_TIMES = addTo('tag_times', ['day', 'account', 'key', 'tag'], BUCKET_COLUMNS, {
  key: CALLER_VALUE,
})
const ADD_SUMS = addTo('call_sums', ['span', 'at', 'model', 'upstream'], ALL_COLUMNS)
const ADD_PARTS = addTo('call_parts', ['span', 'at', 'kind', 'model', 'part'], ALL_COLUMNS)

interface Times {
  readonly first: Histogram
  readonly whole: Histogram
}
interface CallerTimes extends Times {
  readonly day: number
  readonly account: number
  /** 0: without one. */
  readonly key: number
  /** 0: the account itself. */
  readonly member: number
}
export interface OwnTimes extends CallerTimes {
  /** Empty for failed calls. */
  readonly model: string
  readonly failed: number
}
export const addTimes = ({ day, account, key, member, ...own }: OwnTimes): Statement => ({
  sql: ADD_TIMES,
  values: [day, account, key, member, own.model, own.failed, ...bucketValues(own.first, own.whole)],
})
export interface TagTimes extends CallerTimes {
  readonly tag: string
}
export const addTagTimes = ({ day, account, key, member, tag, ...own }: TagTimes): Statement => ({
  sql: ADD_TAG_TIMES,
  values: [day, account, key, member, tag, ...bucketValues(own.first, own.whole)],
})
interface AllSums extends Times, Readonly<Record<(typeof SUMMED)[number], number | bigint>> {
  readonly span: number
  readonly at: number
  readonly model: string
}
export interface Sums extends AllSums {
  readonly upstream: string
}
export const addSums = (sums: Sums): Statement => ({
  sql: ADD_SUMS,
  values: [
    sums.span,
    sums.at,
    sums.model,
    sums.upstream,
    ...SUMMED.map(name => sums[name]),
    ...bucketValues(sums.first, sums.whole),
  ],
})

export const PART_KINDS = ['rule', 'cache', 'guard'] as const
export type PartKind = (typeof PART_KINDS)[number]
export interface PartSums extends AllSums {
  readonly kind: PartKind
  readonly part: string
}
export const addParts = (sums: PartSums): Statement => ({
  sql: ADD_PARTS,
  values: [
    sums.span,
    sums.at,
    sums.kind,
    sums.model,
    sums.part,
    ...SUMMED.map(name => sums[name]),
    ...bucketValues(sums.first, sums.whole),
  ],
})

const OLD_TIMES = ['call_times', 'tag_times'].map(table =>
  sql(`old ${table}`, `DELETE FROM ${table} WHERE day < ?`),
)
const OLD_SUMS = ['call_sums', 'call_parts'].map(table =>
  sql(`old ${table}`, `DELETE FROM ${table} WHERE span = ? AND at < ?`),
)
/** Ages at which sums are deleted, in ms. */
export const RETENTION = { times: 92 * DAY, hour: 8 * DAY, day: 400 * DAY } as const
export const removeOldSums = (now: number): readonly Statement[] => [
  ...OLD_TIMES.map(sql => ({ sql, values: [Math.floor((now - RETENTION.times) / DAY)] })),
  ...(
    [
      [SPANS.hour, RETENTION.hour],
      [WHOLE_HOUR, RETENTION.hour],
      [SPANS.day, RETENTION.day],
    ] as const
  ).flatMap(([span, age]) => OLD_SUMS.map(sql => ({ sql, values: [span, now - age] }))),
]

// ---------------------------------------------------------------- whole hours

/** The end of the last whole hour that has a row; 0 without one. */
const END_OF_WHOLE = `(SELECT coalesce(max(w.at) + ${SPANS.hour}, 0) FROM call_sums w WHERE w.span = ${WHOLE_HOUR})`
/** The first hour behind it with calls. */
export const NEXT_HOUR = sql(
  'next hour',
  `SELECT min(c.at) AS at FROM call_sums c WHERE c.span = ${SPANS.hour} AND c.at >= ${END_OF_WHOLE}`,
)
/** Parameters: the first hour, the end. Gateways of earlier versions write no whole hours: their
 *  calls are in the rows that this adds up. */
const ADD_WHOLE_HOURS = sql(
  'whole hours',
  `INSERT INTO call_sums (span, at, model, upstream, ${ALL_COLUMNS.join(', ')})
   SELECT ${WHOLE_HOUR}, c.at, '', '', ${sumsOf(ALL_COLUMNS)}
   FROM call_sums c WHERE c.span = ${SPANS.hour} AND c.at >= ? AND c.at < ? GROUP BY c.at
   ON CONFLICT (span, at, model, upstream) DO NOTHING`,
)
/** Hours of one statement: the rows of a store from before are added up in several. */
const HOURS_AT_ONCE = 6
/** ms after which an hour gets no more calls: processes write theirs every two seconds. */
const LATENESS = 600_000
/** Adds up a few hours from `next` that have ended; undefined if there are none. */
export const addWholeHours = (next: number, now: number): Statement | undefined => {
  const ended = Math.floor((now - LATENESS) / SPANS.hour) * SPANS.hour
  if (next >= ended) return undefined
  const end = Math.min(ended, next + HOURS_AT_ONCE * SPANS.hour)
  return { sql: ADD_WHOLE_HOURS, values: [next, end] }
}

// ---------------------------------------------------------------- reading

/** Times of an account by day, model, key, member or tag. Parameters: first day, day after the last
 *  (twice), account, a member (twice, null for all). One search a day finds the rows of the
 *  account. */
export const timesBy = (group: 'day' | 'model' | 'key' | 'member' | 'tag'): Sql => {
  const madeBy = madeByCaller('c.key')
  const columns: Partial<Record<typeof group, string>> = {
    key: madeBy.key,
    member: memberOfCall(madeBy),
  }
  const column = columns[group] ?? `c.${group}`
  const table = group === 'tag' ? 'tag_times' : 'call_times'
  return sql(
    `times by ${group}`,
    `SELECT ${column} AS name, ${sumsOf(BUCKET_COLUMNS)} FROM ${DAYS} d CROSS JOIN ${table} c
     WHERE c.day = d.day AND c.day < ? AND c.account = ? AND ${ofMember(madeBy)} GROUP BY ${column}`,
  )
}
/** The rows of the accounts in a JSON list, on some days: a search each. PostgreSQL would join
 *  whole tables. */
const ROWS_OF = {
  sqlite: `json_each(?) l CROSS JOIN ${DAYS} d CROSS JOIN call_times c
     WHERE c.account = l.value AND c.day = d.day AND c.day < ?`,
  postgres: `call_times c WHERE c.account ${IN_LIST.postgres}
     AND c.day = ANY (ARRAY(SELECT generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT) - 1)))
     AND c.day < ?`,
} as const
/** Failed calls and times of some accounts, or of some of their keys. Parameters: the accounts,
 *  first day, day after the last (twice), and the keys. PostgreSQL before 17 would try each pair of
 *  two lists of the same column. */
export const timesOfCallers = (group: 'account' | 'key'): Sql => {
  const column = group === 'key' ? madeByCaller('c.key').key : 'c.account'
  const textIn = (dialect: keyof typeof ROWS_OF): string =>
    `SELECT ${column} AS name, ${sumsOf(OF_CALLERS)} FROM ${ROWS_OF[dialect]}
     ${group === 'key' ? `AND ${column} ${IN_LIST[dialect]}` : ''} GROUP BY ${column}`
  const name = `failed calls and times by ${group}`
  return { ...sql(name, textIn('sqlite')), postgres: textIn('postgres') }
}
/** Sums of all accounts by hour: an ended hour is one row. Parameters: from, to, twice, row
 *  count. */
export const SUMS_BY_HOUR: Sql = sql(
  'sums by hour',
  `SELECT h.* FROM (
     SELECT w.at AS name, ${ALL_COLUMNS.map(name => `w.${name}`).join(', ')} FROM call_sums w
     WHERE w.span = ${WHOLE_HOUR} AND w.at >= ? AND w.at < ?
     UNION ALL
     SELECT c.at AS name, ${sumsOf(ALL_COLUMNS)} FROM call_sums c
     WHERE c.span = ${SPANS.hour} AND c.at >= ? AND c.at < ? AND c.at >= ${END_OF_WHOLE}
     GROUP BY c.at) h
   ORDER BY h.name DESC LIMIT ?`,
)
export const SUM_GROUPS = ['model', 'upstream', 'hour', 'day'] as const
export type SumGroup = (typeof SUM_GROUPS)[number]
/** Sums of all accounts. Parameters: span, from, to, row count. */
export const sumsBy = (group: Exclude<SumGroup, 'hour'>): Sql => {
  const isTime = group === 'day'
  const column = isTime ? 'c.at' : `c.${group}`
  return sql(
    `sums by ${group}`,
    `SELECT ${column} AS name, ${sumsOf(ALL_COLUMNS)} FROM call_sums c
     WHERE c.span = ? AND c.at >= ? AND c.at < ? GROUP BY ${column}
     ORDER BY ${isTime ? `${column} DESC` : `calls DESC, ${column}`} LIMIT ?`,
  )
}
/** Sums of all accounts by model and part, with the calls of the model in `total`. Parameters:
 *  span, from, to, kind, row count. */
export const SUMS_BY_PART: Sql = sql(
  'sums by part',
  `SELECT c.model, c.part AS name, ${sumsOf(ALL_COLUMNS)},
     CAST(CASE WHEN c.kind = 'guard' THEN max(sum(c.calls)) OVER (PARTITION BY c.model)
       ELSE sum(sum(c.calls)) OVER (PARTITION BY c.model) END AS BIGINT) AS total
   FROM call_parts c WHERE c.span = ? AND c.at >= ? AND c.at < ? AND c.kind = ?
   GROUP BY c.kind, c.model, c.part ORDER BY total DESC, c.model, calls DESC, c.part LIMIT ?`,
)
