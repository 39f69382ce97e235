/** Rows of a large store beside its charges: the sums that are kept of them, and what the pages of
 *  the first account list. */
import { DURATIONS } from '../../../engine/kit.ts'
import { byCaller } from '../../../plugins/ledger/views/usage-days.ts'

export interface ScaleSize {
  readonly charges: number
  readonly keys: number
  readonly accounts: number
}
/** The options of a command that fills a store. */
export const SIZE_OPTIONS = {
  charges: { type: 'string', default: '10000000' },
  keys: { type: 'string', default: '1000000' },
  accounts: { type: 'string', default: '100000' },
} as const
export const sizeIn = (values: Readonly<Record<keyof ScaleSize, string>>): ScaleSize => ({
  charges: Number(values.charges),
  keys: Number(values.keys),
  accounts: Number(values.accounts),
})
/** Accounts of the fixture begin here; the first of them has a tenth of all charges. */
export const FIRST_ACCOUNT = 1_000
const { h: HOUR, d: DAY } = DURATIONS
export const YEAR = 365 * DAY

/** The texts of one engine. `series`: a FROM item with the numbers `n.at` from 1 to a count. */
export interface Dialect {
  series(count: number): string
  /** A text of 32 hexadecimal digits that begins with the number, so that an index grows at its
   *  end, and is random behind it. */
  readonly hex: string
  readonly greatest: string
}

/** The account of the charge `n.at`. */
export const accountOf = (accounts: number): string =>
  `(CASE WHEN n.at % 10 = 0 THEN ${FIRST_ACCOUNT} ELSE ${FIRST_ACCOUNT} + n.at * 7919 % ${accounts} END)`
export const MODELS =
  "(CASE n.at % 4 WHEN 0 THEN 'gp-4.1' WHEN 1 THEN 'gp-4.1-mini' WHEN 2 THEN 'claude' ELSE 'gemini' END)"

const IS_SETTLED = "CASE WHEN c.state = 'settled' THEN 1 ELSE 0 END"
/** As the gateway keeps them when a charge closes. Times of calls are those of 91 days. */
export const sumStatements = (
  now: number,
  { series }: Dialect,
): Readonly<Record<string, string>> => ({
  'sums of days': `INSERT INTO usage_days (day, account, key, model, calls, failed, amount, input, cached, output)
    SELECT c.opened / ${DAY}, c.account, ${byCaller('c')}, c.model, sum(${IS_SETTLED}), sum(1 - ${IS_SETTLED}), sum(c.amount),
      152 * sum(${IS_SETTLED}), 0, 118 * sum(${IS_SETTLED})
    FROM charges c WHERE c.account >= ${FIRST_ACCOUNT} GROUP BY 1, 2, 3, 4`,
  'sums of tags': `INSERT INTO tag_days (day, account, key, tag, calls, amount, input, cached, output)
    SELECT t.day, t.account, t.caller, t.tag, count(*), sum(t.amount), 152 * count(*), 0, 118 * count(*)
    FROM (SELECT c.opened / ${DAY} AS day, c.account, ${byCaller('c')} AS caller, c.amount,
        CASE WHEN c.served LIKE '%alpha%' THEN 'project=alpha' ELSE 'project=beta' END AS tag
      FROM charges c WHERE c.account = ${FIRST_ACCOUNT} AND c.state = 'settled' AND c.served LIKE '%"tags"%') t
    GROUP BY 1, 2, 3, 4`,
  'times of calls': `INSERT INTO call_times (day, account, key, model, first10, whole14)
    SELECT day, account, key, model, calls, calls FROM usage_days
    WHERE calls > 0 AND day > ${Math.floor(now / DAY) - 91}`,
  'sums of hours': sumsOfSpan(HOUR, 8 * 24, now, series),
  'sums of all days': sumsOfSpan(DAY, 400, now, series),
})
/** Rows of fifty models on four upstreams for each hour or day. */
const sumsOfSpan = (
  span: number,
  count: number,
  now: number,
  series: Dialect['series'],
): string => `
  INSERT INTO call_sums (span, at, model, upstream, calls, failed, amount, input, output, first10, whole14)
  SELECT ${span}, (${Math.floor(now / span)} - n.at / 200) * ${span}, 'model-' || (n.at % 50), 'upstream-' || (n.at / 50 % 4),
    100, 2, 9360000, 15200, 11800, 98, 98 FROM ${series(count * 200)}`

const FAILED = 100_000
const CREDITS = 10_000
const TASKS = 100_000
const ACTIONS = 200_000
/** Of the first account, but failed calls and actions, which are of all. */
export const listStatements = (
  { accounts }: ScaleSize,
  now: number,
  { series, hex }: Dialect,
): Readonly<Record<string, string>> => ({
  members: `INSERT INTO members (id, account, name, role, created)
    SELECT n.at, ${FIRST_ACCOUNT}, 'member-' || n.at, 'member', ${now - YEAR} FROM ${series(10)}`,
  'failed calls': `INSERT INTO failed_calls (request, at, account, key, route, model, status, code, message, ms, cost, attempts, omitted, bytes, member)
    SELECT 'req_' || ${hex}, ${now} - n.at * 1000, ${accountOf(accounts)}, NULL, 'POST /v1/chat/completions', ${MODELS}, 502,
      'upstream_error', 'The upstream answered 503', 800, 0, '', 0, 350, 0 FROM ${series(FAILED)}`,
  'more credits': `INSERT INTO credits (id, account, kind, amount, note, at)
    SELECT ${FIRST_ACCOUNT} - 1 + ${accounts} + n.at, ${FIRST_ACCOUNT}, 'credit', 1000000, 'scale', ${now - YEAR} + n.at * 3000000 FROM ${series(CREDITS)}`,
  tasks: `INSERT INTO tasks (id, account, request, route, path, model, version, state, body, slots, target, upstream, created, changed, deadline, expires)
    SELECT '' || (1000000 + n.at), ${FIRST_ACCOUNT}, 'task_' || ${hex}, 'text2video', '/ent/v2/text2video', 'viduq1', 1,
      CASE WHEN n.at % 20 = 3 THEN 'failed' ELSE 'succeeded' END, '{}', '{}', '{"upstream":"vidu","name":"viduq1"}', 'vidu',
      ${now - YEAR} + n.at * 300000, ${now - YEAR} + n.at * 300000 + 60000, ${now + YEAR}, ${now + YEAR} FROM ${series(TASKS)}`,
  actions: `INSERT INTO actions (seq, at, operation, actor, object, entry, key, prev, mac)
    SELECT h.seq + n.at, ${now - YEAR} + n.at * 150000, CASE WHEN n.at % 3 = 0 THEN 'keys create' ELSE 'accounts credit' END,
      'root', 'account ' || (${FIRST_ACCOUNT} + n.at % ${accounts}), '{"via":"admin API","before":null,"after":null}', '', '', ''
    FROM action_head h CROSS JOIN ${series(ACTIONS)}`,
  'last action': 'UPDATE action_head SET seq = (SELECT max(seq) FROM actions)',
})
