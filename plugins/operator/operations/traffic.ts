/** Operations on sums of calls of all accounts. */

import { countOf, textOf } from '../../../engine/cli/kit.ts'
import { integer, object, oneOf, text } from '../../../engine/config/shape.ts'
import { DURATIONS } from '../../../engine/kit.ts'
import type { Database, Row } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { tokenColumns } from '../../billing/tokens.ts'
import { latenciesOf } from '../../calls/histogram.ts'
import { failuresAndLatencies, NO_LATENCIES, sumsOfAll } from '../../calls/sum-reads.ts'
import { PART_KINDS, type PartKind, SUM_GROUPS, type SumGroup } from '../../calls/sum-statements.ts'
import { nanosOf } from '../../ledger/statements.ts'
import { TRAFFIC } from '../../rows/calls.ts'
import { list as listOf } from '../../shapes.ts'
import type { TrafficRow } from '../../views.ts'
import { type Operation, operation } from '../operation.ts'
import { isoTime } from '../rows.ts'
import { topRows, topRowsOfDays } from '../usage.ts'

const BY = [...SUM_GROUPS, ...PART_KINDS, 'account', 'key'] as const
type By = (typeof BY)[number]
const MOST = 1_000
const USUAL = 50
/** Periods of so many days and more have whole days, as those by model have. */
const WHOLE_DAYS = 3
const UNITS = { h: DURATIONS.h, d: DURATIONS.d } as const

const isTime = (by: SumGroup | PartKind): boolean => by === 'hour' || by === 'day'
const nameOf = ({ name }: Row, by: SumGroup | PartKind): string => {
  if (isTime(by)) return isoTime(name).slice(0, by === 'day' ? 10 : 16)
  return String(name)
}
/** To the hundredth of a percent. */
const shareOf = ({ calls, total }: Row): number =>
  Math.round((Number(calls) / Number(total)) * 10_000) / 10_000
const rowOf = (sums: Row, by: SumGroup | PartKind): TrafficRow => ({
  ...(sums.total !== undefined && { model: String(sums.model), share: shareOf(sums) }),
  name: nameOf(sums, by),
  calls: Number(sums.calls),
  failed: Number(sums.failed),
  ...tokenColumns(sums),
  cost: printMoney(nanosOf(sums.amount)),
  ...latenciesOf(sums),
})

const show = operation({
  name: 'traffic list',
  summary:
    'Lists calls, failed calls, tokens, cost and latencies by model, upstream, hour, day, account or key; or those of each model by its rules, by what the cache did, and by the actions of guards.',
  scope: 'operator',
  reads: true,
  arguments: object(undefined, {
    by: oneOf(
      `${BY.join(', ')}; by default model. By account and key: charged calls, beside failed calls and latencies of the days (UTC) that the period touches. By rule, cache and guard: with the share of the calls of the model; without a name, calls that no rule held for, and all calls that guards saw.`,
      BY,
    ),
    since: text('How far back, in hours or days; 1d by default.', {
      pattern: '^[1-9][0-9]{0,2}[hd]$',
      examples: ['24h', '30d'],
    }),
    top: integer(`How many rows; ${USUAL} by default.`, { minimum: 1, maximum: MOST }),
  }),
  result: listOf(TRAFFIC),
  command: {
    example: 'tollgate traffic list --by upstream --since 7d',
    options: {
      by: { type: 'string', value: 'WHAT', summary: BY.join(', ') },
      since: { type: 'string', value: 'TIME', summary: 'how far back: 24h, 7d; 1d by default' },
      top: { type: 'string', value: 'COUNT', summary: `how many rows; ${USUAL} by default` },
    },
    read({ values }) {
      const [by, since] = [textOf(values.by), textOf(values.since)]
      const top = countOf(textOf(values.top), 'top', MOST)
      return {
        ...(by !== undefined && { by: by as By }),
        ...(since !== undefined && { since }),
        ...(top !== undefined && { top }),
      }
    },
  },
  async run({ store, now }, { by = 'model', since = '1d', top = USUAL }) {
    const period = { from: now - lengthOf(since), to: now + 1 }
    if (by !== 'account' && by !== 'key') {
      const rows = await sumsOfAll(store, by, period, top)
      return { data: rows.map(each => rowOf(each, by)) }
    }
    return { data: await callerRows(store, now, { by, top, length: lengthOf(since) }) }
  },
})
interface CallerQuery {
  readonly by: 'account' | 'key'
  readonly top: number
  /** ms. */
  readonly length: number
}
/** Charges of accounts or keys, with their failed calls and latencies. */
const callerRows = async (
  store: Pick<Database, 'read'>,
  now: number,
  { by, top, length }: CallerQuery,
): Promise<readonly TrafficRow[]> => {
  const period = { from: now - length, to: now + 1 }
  const days = Math.floor(length / UNITS.d)
  const rows =
    days >= WHOLE_DAYS
      ? await topRowsOfDays(store, { by, days, now, top })
      : await topRows(store, { by, top, ...period, now })
  const names = rows.map(({ name }) => Number(name)).filter(name => name > 0)
  const accounts = by === 'account' ? names : rows.map(row => Number(row.key_account ?? 0))
  const query = { by, accounts, names, ...period }
  const ofCallers = await failuresAndLatencies(store, now, query)
  return rows.map(row => {
    const { failed = 0, ...latencies } = ofCallers.get(Number(row.name)) ?? NONE
    return {
      name: callerName(row, by),
      calls: Number(row.calls),
      ...(row.name !== 0 && { failed }),
      ...tokenColumns(row),
      cost: printMoney(nanosOf(row.amount)),
      ...latencies,
    }
  })
}
const NONE = { failed: 0, ...NO_LATENCIES }
const callerName = (row: Row, by: CallerQuery['by']): string =>
  by === 'account'
    ? String(row.account_name ?? 'unknown')
    : `${row.key_name ?? 'no key'} (${row.account_name ?? ''})`
const lengthOf = (since: string): number =>
  Number(since.slice(0, -1)) * UNITS[since.slice(-1) as keyof typeof UNITS]

export const trafficOperations: readonly Operation[] = [show]
