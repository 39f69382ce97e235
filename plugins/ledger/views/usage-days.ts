/** Sums of calls by day, account, key, member and model (table `usage_days`), written in the
 *  transaction that closes a charge: lists and charts need not read the charges. */
import { DURATIONS } from '../../../engine/kit.ts'
import type { Sql, Statement, Value } from '../../../engine/plugin.ts'
import { tokensIn } from '../../billing/tokens.ts'
import { CALLER_VALUE, callerOf, madeByCaller, madeIn } from '../../calls/call-member.ts'
import { DAYS } from '../../calls/number-lists.ts'
import type { Meters } from '../../slots.ts'
import { type Hold, memberColumn } from '../statements.ts'

const DAY = DURATIONS.d

/** `key`: the number of a key and a member, see `callerOf`. `failed`: calls that were not charged.
 *  The days come first in the key: the rows of today lie together. */
const TABLE = `
  CREATE TABLE usage_days (
    day BIGINT NOT NULL,
    account BIGINT NOT NULL,
    key BIGINT NOT NULL,
    model TEXT NOT NULL,
    calls BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    amount BIGINT NOT NULL DEFAULT 0,
    refunded BIGINT NOT NULL DEFAULT 0,
    input BIGINT NOT NULL DEFAULT 0,
    cached BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, account, key, model))`
/** Free space in each page lets PostgreSQL update a row without touching the index. */
export const USAGE_DAYS = {
  sqlite: `${TABLE} WITHOUT ROWID`,
  postgres: `${TABLE} WITH (fillfactor = 70)`,
} as const
/** Tokens of answers, thinking included; 0 for charges that were archived before. */
const OUTPUT = 'ALTER TABLE usage_days ADD COLUMN output BIGINT NOT NULL DEFAULT 0'

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Joins rows that a function makes of the row before. */
  readonly lateral: string
  meter(row: string, name: string): string
  /** A number that is not above the most tokens of a call. */
  atMost(number: string): string
}
/** No upstream can make the sum of a day overflow, so that no settlement fails because of it. */
const MOST_TOKENS = 10 ** 13
const SQLITE: Dialect = {
  name: 'sqlite',
  lateral: 'CROSS JOIN',
  meter: (row, name) =>
    `min(CAST(coalesce(json_extract(${row}.usage, '$.${name}'), 0) AS INTEGER), ${MOST_TOKENS})`,
  atMost: number => `min(${number}, ${MOST_TOKENS})`,
}
const POSTGRES: Dialect = {
  name: 'postgres',
  lateral: 'CROSS JOIN LATERAL',
  meter: (row, name) =>
    `CAST(least(coalesce(CAST(CAST(${row}.usage AS json) ->> '${name}' AS NUMERIC), 0), ${MOST_TOKENS}) AS BIGINT)`,
  atMost: number => `least(${number}, ${MOST_TOKENS})`,
}
export const perDialect = (make: (dialect: Dialect) => string) => ({
  sqlite: make(SQLITE),
  postgres: make(POSTGRES),
})
/** A released call may have the usage of a checkpoint. */
const ofSettled = (count: string): string =>
  `CASE WHEN c.state = 'settled' THEN ${count} ELSE 0 END`
/** The column `key` for a row of `charges`. */
export type KeyOf = (row: string) => string
/** As earlier versions wrote it. */
export const byKey: KeyOf = row => `coalesce(${row}.key, 0)`
/** As versions write it whose charges have a member. */
export const byCaller: KeyOf = row => callerOf(madeIn(row))
const GROUP = (row: string, keyOf = byKey): string =>
  `${row}.opened / ${DAY}, ${row}.account, ${keyOf(row)}, ${row}.model`
const ON_SAME = 'ON CONFLICT (day, account, key, model) DO UPDATE SET'
const plus = (...columns: readonly string[]): string =>
  columns.map(each => `${each} = usage_days.${each} + excluded.${each}`).join(', ')

/** The sums of all closed charges, for a store of an earlier version. */
export const BACKFILL = perDialect(
  ({ meter }) => `
  INSERT INTO usage_days (day, account, key, model, calls, failed, amount, input, cached)
  SELECT ${GROUP('c')}, sum(CASE WHEN c.state = 'settled' THEN 1 ELSE 0 END),
    sum(CASE WHEN c.state = 'released' THEN 1 ELSE 0 END), sum(c.amount),
    sum(${ofSettled(meter('c', 'input'))}), sum(${ofSettled(meter('c', 'cached'))})
  FROM charges c WHERE c.state <> 'open' GROUP BY 1, 2, 3, 4;
  UPDATE usage_days SET refunded = paid.total
  FROM (SELECT c.opened / ${DAY} AS day, c.account, coalesce(c.key, 0) AS key, c.model, sum(r.amount) AS total
    FROM credits r JOIN charges c ON c.request = r.request WHERE r.kind = 'refund' GROUP BY 1, 2, 3, 4) paid
  WHERE (usage_days.day, usage_days.account, usage_days.key, usage_days.model)
    = (paid.day, paid.account, paid.key, paid.model)`,
)

// ---------------------------------------------------------------- triggers

/** The first version: without the tokens of answers and of writes to a cache. */
export const SUM_SETTLED = perDialect(
  ({ meter }) => `
  INSERT INTO usage_days (day, account, key, model, calls, amount, input, cached)
  VALUES (${GROUP('NEW')}, 1, NEW.amount, ${meter('NEW', 'input')}, ${meter('NEW', 'cached')})
  ${ON_SAME} ${plus('calls', 'amount', 'input', 'cached')}`,
)
export const sumReleased = (keyOf: KeyOf): string => `
  INSERT INTO usage_days (day, account, key, model, failed) VALUES (${GROUP('NEW', keyOf)}, 1)
  ${ON_SAME} ${plus('failed')}`
/** Whether the entry `NEW` of an account gives back a charge. */
export const IS_REFUND = "NEW.kind = 'refund' AND NEW.request IS NOT NULL"
/** On the day of the call. */
export const sumRefund = (keyOf: KeyOf): string => `
  UPDATE usage_days SET refunded = refunded + NEW.amount
  WHERE (day, account, key, model) = (SELECT ${GROUP('c', keyOf)} FROM charges c WHERE c.request = NEW.request)`

/** Sums of meters, as `tokensIn` has them: `input` without its cached part. */
export const metersOf = ({ meter, atMost }: Dialect, row: string) => ({
  stored: atMost(`${meter(row, 'cache_write')} + ${meter(row, 'cache_write_1h')}`),
  input: atMost(
    ['input', 'cache_write', 'cache_write_1h'].map(name => meter(row, name)).join(' + '),
  ),
  cached: meter(row, 'cached'),
  output: atMost(`${meter(row, 'output')} + ${meter(row, 'thinking')}`),
})
export const TOKEN_COLUMNS = ['input', 'cached', 'output'] as const

/** Adds the tokens that the first version of the sums leaves out, of all charges that the ledger
 *  still has. `stored`: tokens written to a cache. */
const BACKFILL_OUTPUT = perDialect(dialect => {
  const { stored, output } = metersOf(dialect, 'c')
  return `
  UPDATE usage_days SET input = usage_days.input + counted.stored, output = counted.output
  FROM (SELECT c.opened / ${DAY} AS day, c.account, coalesce(c.key, 0) AS key, c.model,
      sum(${stored}) AS stored, sum(${output}) AS output FROM charges c
    WHERE c.state = 'settled' AND c.usage IS NOT NULL GROUP BY 1, 2, 3, 4) counted
  WHERE (usage_days.day, usage_days.account, usage_days.key, usage_days.model)
    = (counted.day, counted.account, counted.key, counted.model)`
})
export const sumAllTokens = (keyOf: KeyOf) =>
  perDialect(dialect => {
    const { input, cached, output } = metersOf(dialect, 'NEW')
    return `
  INSERT INTO usage_days (day, account, key, model, calls, amount, input, cached, output)
  VALUES (${GROUP('NEW', keyOf)}, 1, NEW.amount, ${input}, ${cached}, ${output})
  ${ON_SAME} ${plus('calls', 'amount', ...TOKEN_COLUMNS)}`
  })
const SUM_ALL_TOKENS = sumAllTokens(byKey)
/** For a row whose list has added it with the first version of the sums. */
const SUM_MISSING_TOKENS = perDialect(dialect => {
  const { stored, output } = metersOf(dialect, 'NEW')
  return `
  INSERT INTO usage_days (day, account, key, model, input, output)
  VALUES (${GROUP('NEW')}, ${stored}, ${output}) ${ON_SAME} ${plus('input', 'output')}`
})
/** `charges.summed`: 1 in a row of an earlier version, whose list adds input and cached tokens
 *  only; from 2 on the list adds all tokens to the sums. */
const IS_PARTLY_SUMMED = "NEW.state = 'settled' AND NEW.summed = 1"

/** Sums of the tokens of answers, and of those written to a cache, beside gateways of earlier
 *  versions. */
export const OUTPUT_SUMS = {
  text: `${OUTPUT};
  ${BACKFILL_OUTPUT.sqlite};
  DROP TRIGGER charges_inserted;
  DROP TRIGGER charges_settled_sum;
  CREATE TRIGGER charges_inserted AFTER INSERT ON charges
    WHEN NEW.state = 'settled' AND NEW.summed IS NULL BEGIN ${SUM_ALL_TOKENS.sqlite}; END;
  CREATE TRIGGER charges_inserted_before AFTER INSERT ON charges
    WHEN ${IS_PARTLY_SUMMED} BEGIN ${SUM_MISSING_TOKENS.sqlite}; END;
  CREATE TRIGGER charges_settled_sum AFTER UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND NEW.state = 'settled' AND NEW.summed IS NULL
    BEGIN ${SUM_ALL_TOKENS.sqlite}; END`,
  postgres: `LOCK TABLE charges IN SHARE ROW EXCLUSIVE MODE;
  ${OUTPUT};
  ${BACKFILL_OUTPUT.postgres};
  CREATE OR REPLACE FUNCTION tollgate_sum_settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SUM_ALL_TOKENS.postgres}; RETURN NULL; END $$;
  CREATE FUNCTION tollgate_sum_missing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${SUM_MISSING_TOKENS.postgres}; RETURN NULL; END $$;
  CREATE TRIGGER charges_inserted_before AFTER INSERT ON charges FOR EACH ROW
    WHEN (${IS_PARTLY_SUMMED}) EXECUTE FUNCTION tollgate_sum_missing()`,
} as const

/** The part of the charges that plans paid. */
export const PLANNED_COLUMN = 'ALTER TABLE usage_days ADD COLUMN planned BIGINT NOT NULL DEFAULT 0'
/** `amount`: of the charge `NEW`. */
export const sumPlanned = (amount: string, keyOf: KeyOf): string => `
  INSERT INTO usage_days (day, account, key, model, planned) VALUES (${GROUP('NEW', keyOf)}, ${amount})
  ${ON_SAME} ${plus('planned')}`

// ---------------------------------------------------------------- the charge in one row

const ADD: Sql = {
  name: 'ledger: sum of the day',
  text: `INSERT INTO usage_days (day, account, key, model, calls, amount, input, cached, output)
   VALUES (?, ?, ${CALLER_VALUE}, ?, ?, ?, ?, ?, ?) ${ON_SAME} ${plus('calls', 'amount', ...TOKEN_COLUMNS)}`,
  sums: [5, 6, 7, 8, 9],
}
/** Input without its cached part, cached and output tokens of a call: `TOKEN_COLUMNS`. */
export const tokenCounts = (meters: Meters): readonly number[] => {
  const { input, cached, output } = tokensIn(meters)
  return [input - cached, cached, output].map(count => Math.min(count, MOST_TOKENS))
}
/** The values of a charge that tell the rows of its sums apart, before the model or the tag. */
export const ownerValues = (
  hold: Pick<Hold, 'openedAt' | 'account' | 'key' | 'member'>,
): readonly number[] => [dayOf(hold.openedAt), hold.account, hold.key ?? 0, memberColumn(hold)]
/** One statement for all charges of a commit with the same day, account, key, member and model. */
export const addToDay = (hold: Hold, amount: bigint, meters: Meters): Statement => ({
  sql: ADD,
  values: [...ownerValues(hold), hold.model, 1, amount, ...tokenCounts(meters)],
})

const ADD_PLANNED: Sql = {
  name: 'ledger: planned sum of the day',
  text: `INSERT INTO usage_days (day, account, key, model, planned)
   VALUES (?, ?, ${CALLER_VALUE}, ?, ?) ${ON_SAME} ${plus('planned')}`,
  sums: [5],
}
/** The same of the part that a plan paid, in nanos. */
export const addPlannedToDay = (hold: Hold, planned: bigint): Statement => ({
  sql: ADD_PLANNED,
  values: [...ownerValues(hold), hold.model, planned],
})

// ---------------------------------------------------------------- reading

/** The number of a day since 1970, UTC. */
export const dayOf = (at: number): number => Math.floor(at / DAY)

/** ms since 1970; `to` is exclusive. */
export interface UsagePeriod {
  readonly from: number
  readonly to: number
}
/** The columns `key` and `member` of a row of sums; `member` null: the row is of an earlier
 *  version. */
export const callerColumns = (row: string): string => {
  const { key, member } = madeByCaller(`${row}.key`)
  return `${key} AS key, ${member} AS member`
}
const COUNTED = ['model', 'calls', 'failed', 'amount', 'refunded', ...TOKEN_COLUMNS]
const COLUMNS = [
  'u.day',
  'u.account',
  callerColumns('u'),
  ...COUNTED.map(each => `u.${each}`),
].join(', ')
const edgeOf = (dialect: Dialect, account: string): string => {
  const meters = metersOf(dialect, 'c')
  const counts = TOKEN_COLUMNS.map(name => `${ofSettled(meters[name])} AS ${name}`).join(', ')
  return `
  SELECT c.opened / ${DAY} AS day, c.account, coalesce(c.key, 0) AS key, c.member, c.model,
    CASE WHEN c.state = 'settled' THEN 1 ELSE 0 END AS calls,
    CASE WHEN c.state = 'released' THEN 1 ELSE 0 END AS failed, c.amount,
    coalesce(r.amount, 0) AS refunded, ${counts}
  FROM charges c LEFT JOIN credits r ON r.request = c.request
  WHERE ${account} c.opened >= ? AND c.opened < ? AND c.state <> 'open'`
}

/** Both edges of a period. */
export const edges = (edge: string): readonly string[] => [edge, edge]
const wholeDays = (
  table: string,
  columns: string,
  accounts: string,
): string => `SELECT ${columns} FROM ${DAYS} d CROSS JOIN ${table} u
    WHERE u.day = d.day AND u.day < ? AND ${accounts}`
/** The whole days of an account in a table whose key begins with the day: one search a day finds
 *  them. `columns`: of `u`. */
export const periodOfAccount = (table: string, columns: string): string =>
  wholeDays(table, columns, 'u.account = ?')
/** The same of the accounts behind one number, up to another. */
export const periodOfAccounts = (table: string, columns: string): string =>
  wholeDays(table, columns, 'u.account > ? AND u.account <= ?')

/** Rows like those of `usage_days` for any period, with `key` and `member`: whole days from there,
 *  the edges of the period from the charges. Parameters: `valuesIn`. */
export const usageOfAll = perDialect(dialect =>
  [
    `SELECT ${COLUMNS} FROM usage_days u WHERE u.day >= ? AND u.day < ?`,
    ...edges(edgeOf(dialect, '')),
  ].join(' UNION ALL '),
)
/** The same of one account. Parameters: `accountValuesIn`. */
export const usageOfAccount = perDialect(dialect =>
  [periodOfAccount('usage_days', COLUMNS), ...edges(edgeOf(dialect, 'c.account = ? AND'))].join(
    ' UNION ALL ',
  ),
)
/** The parts of a period. `now`: a period that ends later has today as a whole day. */
const partsOf = ({ from, to }: UsagePeriod, now: number) => {
  const first = Math.max(Math.ceil(from / DAY), FIRST_DAY)
  const last = Math.min(to > now ? dayOf(to) + 1 : dayOf(to), dayOf(now) + 2)
  return first >= last
    ? { days: [first, first], edges: [[from, to], NONE] }
    : { days: [first, last], edges: [[from, first * DAY], to > now ? NONE : [last * DAY, to]] }
}
/** 2020: no store is older. */
const FIRST_DAY = 18_262
const NONE = [0, 0]

export const valuesIn = (period: UsagePeriod, now: number): readonly Value[] => {
  const { days, edges } = partsOf(period, now)
  return [...days, ...edges.flat()]
}
export const accountValuesIn = (
  account: number,
  period: UsagePeriod,
  now: number,
): readonly Value[] => {
  const { days, edges } = partsOf(period, now)
  const [first = 0, last = 0] = days
  return [first, last, last, account, ...edges.flatMap(edge => [account, ...edge])]
}
