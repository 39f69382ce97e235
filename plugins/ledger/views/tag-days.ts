/** Sums of calls by day, account, key, member and tag (table `tag_days`), written in the
 *  transaction that closes a charge. A call with two tags counts for both. */
import { DURATIONS } from '../../../engine/kit.ts'
import type { Sql, Statement } from '../../../engine/plugin.ts'
import { CALLER_VALUE } from '../../calls/call-member.ts'
import type { Meters } from '../../slots.ts'
import type { Hold } from '../statements.ts'
import { TAGS_MARK, tagsInPostgres, tagTextsIn } from './served-by.ts'
import {
  byCaller,
  byKey,
  callerColumns,
  type Dialect,
  edges,
  IS_REFUND,
  type KeyOf,
  metersOf,
  ownerValues,
  perDialect,
  periodOfAccount,
  TOKEN_COLUMNS,
  tokenCounts,
} from './usage-days.ts'

const DAY = DURATIONS.d
const TABLE = `
  CREATE TABLE tag_days (
    day BIGINT NOT NULL,
    account BIGINT NOT NULL,
    key BIGINT NOT NULL,
    tag TEXT NOT NULL,
    calls BIGINT NOT NULL DEFAULT 0,
    amount BIGINT NOT NULL DEFAULT 0,
    refunded BIGINT NOT NULL DEFAULT 0,
    input BIGINT NOT NULL DEFAULT 0,
    cached BIGINT NOT NULL DEFAULT 0,
    output BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, account, key, tag))`
/** The tags of a charge as rows `t` with `key` and `value`. PostgreSQL reads nothing else of the
 *  column: its functions refuse texts of providers with a zero byte. */
const TAGS_OF = {
  sqlite: (row: string) => `json_each(${row}.served, '$.tags') t`,
  postgres: (row: string) => `json_each_text(CAST(${tagsInPostgres(row)} AS json)) t`,
} as const
const COUNTS = ['calls', 'amount', ...TOKEN_COLUMNS]
const ON_SAME = 'ON CONFLICT (day, account, key, tag) DO UPDATE SET'
const plus = (columns: readonly string[]): string =>
  columns.map(each => `${each} = tag_days.${each} + excluded.${each}`).join(', ')
const TAG = "t.key || '=' || t.value"

/** Whether a charge counts: it is settled and has tags. */
const isTagged = (row: string): string =>
  `${row}.state = 'settled' AND ${row}.served LIKE '%${TAGS_MARK}%'`

/** One row for each tag of the charge `row`. */
const rowsOf = (dialect: Dialect, row: string, keyOf: KeyOf): string => {
  const meters = metersOf(dialect, row)
  const tokens = TOKEN_COLUMNS.map(name => `${meters[name]} AS ${name}`)
  return `${row}.opened / ${DAY} AS day, ${row}.account, ${keyOf(row)} AS key, ${TAG} AS tag,
    1 AS calls, ${row}.amount, ${tokens.join(', ')}`
}
const INSERT = `INSERT INTO tag_days (day, account, key, tag, ${COUNTS.join(', ')})`
/** Without WHERE, SQLite reads ON as the condition of a join. */
export const addTags = (keyOf: KeyOf) =>
  perDialect(
    dialect =>
      `${INSERT} SELECT ${rowsOf(dialect, 'NEW', keyOf)} FROM ${TAGS_OF[dialect.name]('NEW')}
     WHERE true ORDER BY t.key
     ${ON_SAME} ${plus(COUNTS)}`,
  )
export const addTagRefund = (keyOf: KeyOf) =>
  perDialect(
    dialect => `
  UPDATE tag_days SET refunded = refunded + NEW.amount
  WHERE (day, account, key, tag) IN (SELECT c.opened / ${DAY}, c.account, ${keyOf('c')}, ${TAG}
    FROM charges c ${dialect.lateral} ${TAGS_OF[dialect.name]('c')} WHERE c.request = NEW.request)`,
  )
const [ADD_TAGS, ADD_REFUND] = [addTags(byKey), addTagRefund(byKey)]
const SUMS = COUNTS.map(each => `CAST(sum(s.${each}) AS BIGINT)`).join(', ')
const BACKFILL = perDialect(
  dialect => `
  ${INSERT} SELECT s.day, s.account, s.key, s.tag, ${SUMS}
  FROM (SELECT ${rowsOf(dialect, 'c', byKey)} FROM charges c ${dialect.lateral} ${TAGS_OF[dialect.name]('c')}
    WHERE ${isTagged('c')}) s GROUP BY 1, 2, 3, 4;
  UPDATE tag_days SET refunded = paid.total
  FROM (SELECT c.opened / ${DAY} AS day, c.account, coalesce(c.key, 0) AS key, ${TAG} AS tag, sum(r.amount) AS total
    FROM credits r JOIN charges c ON c.request = r.request ${dialect.lateral} ${TAGS_OF[dialect.name]('c')}
    WHERE r.kind = 'refund' AND ${isTagged('c')} GROUP BY 1, 2, 3, 4) paid
  WHERE (tag_days.day, tag_days.account, tag_days.key, tag_days.tag)
    = (paid.day, paid.account, paid.key, paid.tag)`,
)

/** The value of `charges.summed` in a row whose list adds its tags to the sums, too. */
export const TAGGED_BY_LIST = 3
export const IS_TAGGED_INSERTED = `coalesce(NEW.summed, 0) < ${TAGGED_BY_LIST} AND ${isTagged('NEW')}`
export const IS_TAGGED_SETTLED = `OLD.state = 'open' AND ${isTagged('NEW')}`
/** Wallets are locked before sums: triggers of PostgreSQL fire in the order of their names, and
 *  that of inserted charges at the commit, since earlier versions change the wallets after it. */
export const TAG_SUMS = {
  text: `${TABLE} WITHOUT ROWID;
  ${BACKFILL.sqlite};
  CREATE TRIGGER charges_inserted_tags AFTER INSERT ON charges
    WHEN ${IS_TAGGED_INSERTED} BEGIN ${ADD_TAGS.sqlite}; END;
  CREATE TRIGGER charges_settled_tags AFTER UPDATE OF state ON charges
    WHEN ${IS_TAGGED_SETTLED} BEGIN ${ADD_TAGS.sqlite}; END;
  CREATE TRIGGER credits_refunded_tags AFTER INSERT ON credits
    WHEN ${IS_REFUND} BEGIN ${ADD_REFUND.sqlite}; END`,
  postgres: `LOCK TABLE charges IN SHARE ROW EXCLUSIVE MODE;
  LOCK TABLE credits IN SHARE ROW EXCLUSIVE MODE;
  ${TABLE} WITH (fillfactor = 70);
  ${BACKFILL.postgres};
  CREATE FUNCTION tollgate_sum_tags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${ADD_TAGS.postgres}; RETURN NULL; END $$;
  CREATE FUNCTION tollgate_refund_tags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${ADD_REFUND.postgres}; RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER charges_inserted_tags AFTER INSERT ON charges
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (${IS_TAGGED_INSERTED}) EXECUTE FUNCTION tollgate_sum_tags();
  CREATE TRIGGER charges_settled_tags AFTER UPDATE OF state ON charges FOR EACH ROW
    WHEN (${IS_TAGGED_SETTLED}) EXECUTE FUNCTION tollgate_sum_tags();
  CREATE TRIGGER credits_refunded_tags AFTER INSERT ON credits FOR EACH ROW
    WHEN (${IS_REFUND}) EXECUTE FUNCTION tollgate_refund_tags()`,
} as const

const ADD: Sql = {
  name: 'ledger: sum of the tag',
  text: `INSERT INTO tag_days (day, account, key, tag, ${COUNTS.join(', ')})
   VALUES (?, ?, ${CALLER_VALUE}, ?, ${COUNTS.map(() => '?').join(', ')}) ${ON_SAME} ${plus(COUNTS)}`,
  sums: COUNTS.map((_, at) => at + 5),
}
/** One statement for each tag of a charge in one row. */
export const addToTags = (
  hold: Hold,
  amount: bigint,
  meters: Meters,
  served: string | null,
): readonly Statement[] =>
  tagTextsIn(served).map(tag => ({
    sql: ADD,
    values: [...ownerValues(hold), tag, 1, amount, ...tokenCounts(meters)],
  }))

const columnsOf = (row: string): string => {
  const rest = ['tag', ...COUNTS, 'refunded'].map(each => `${row}.${each}`)
  return [`${row}.day`, `${row}.account`, callerColumns(row), ...rest].join(', ')
}
const edgeOf = (dialect: Dialect, account: string): string => `
  SELECT ${columnsOf('e')} FROM (SELECT ${rowsOf(dialect, 'c', byCaller)}, coalesce(r.amount, 0) AS refunded
    FROM charges c LEFT JOIN credits r ON r.request = c.request
      ${dialect.lateral} ${TAGS_OF[dialect.name]('c')}
    WHERE ${account} c.opened >= ? AND c.opened < ? AND ${isTagged('c')}) e`
/** The calls of an account with one tag, each with its model: sums of tags have none. Parameters:
 *  account, from, to (ms since 1970), the name and the value of the tag. */
export const callsOfTag = perDialect(
  dialect => `
  SELECT ${columnsOf('e')}, e.model FROM (SELECT ${rowsOf(dialect, 'c', byCaller)}, c.model,
      coalesce(r.amount, 0) AS refunded
    FROM charges c LEFT JOIN credits r ON r.request = c.request
      ${dialect.lateral} ${TAGS_OF[dialect.name]('c')}
    WHERE c.account = ? AND c.opened >= ? AND c.opened < ? AND ${isTagged('c')}
      AND t.key = ? AND t.value = ?) e`,
)
/** Like `usageOfAll`, by tag. Parameters: `valuesIn`. */
export const tagsOfAll = perDialect(dialect =>
  [
    `SELECT ${columnsOf('u')} FROM tag_days u WHERE u.day >= ? AND u.day < ?`,
    ...edges(edgeOf(dialect, '')),
  ].join(' UNION ALL '),
)
/** Like `usageOfAccount`, by tag. Parameters: `accountValuesIn`. */
export const tagsOfAccount = perDialect(dialect =>
  [
    periodOfAccount('tag_days', columnsOf('u')),
    ...edges(edgeOf(dialect, 'c.account = ? AND')),
  ].join(' UNION ALL '),
)
