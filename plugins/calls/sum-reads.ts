/** Reads the sums that are kept of calls: latencies of an account, and the traffic of all accounts.
 *  Also adds up the rows of an hour that has ended. */
import type { Database, Row } from '../../engine/plugin.ts'
import { latenciesOf } from './histogram.ts'
import {
  addWholeHours,
  NEXT_HOUR,
  PART_KINDS,
  type PartKind,
  RETENTION,
  SPANS,
  SUMS_BY_HOUR,
  SUMS_BY_PART,
  type SumGroup,
  sumsBy,
  timesBy,
  timesOfCallers,
} from './sum-statements.ts'

type Reader = Pick<Database, 'read'>
const DAY = SPANS.day

const TIMES = {
  day: timesBy('day'),
  model: timesBy('model'),
  key: timesBy('key'),
  member: timesBy('member'),
  tag: timesBy('tag'),
} as const
type TimeGroup = keyof typeof TIMES
export type Latencies = ReturnType<typeof latenciesOf>
export const NO_LATENCIES: Latencies = latenciesOf({})

interface OwnQuery {
  readonly account: number
  /** Only calls of this member. */
  readonly member?: number | undefined
  readonly by: TimeGroup
  /** ms since 1970; the days (UTC) that the period touches. */
  readonly from: number
  readonly to: number
}
/** The numbers of days that a period touches and that have times. */
const daysOf = (now: number, { from, to }: { readonly from: number; readonly to: number }) => ({
  first: Math.floor(Math.max(from, now - RETENTION.times) / DAY),
  last: Math.ceil(Math.min(to, now + DAY) / DAY),
})
/** By the number of the day, the key or the member, or by the model or the tag. */
export const latenciesBy = async (
  database: Reader,
  now: number,
  { account, member = undefined, by, from, to }: OwnQuery,
): Promise<ReadonlyMap<string, Latencies>> => {
  const { first, last } = daysOf(now, { from, to })
  if (first >= last) return new Map()
  const ofMember = [member ?? null, member ?? null]
  const rows = await database.read(TIMES[by], [first, last, last, account, ...ofMember])
  return new Map(rows.map(row => [String(row.name), latenciesOf(row)]))
}

const CALLERS = { account: timesOfCallers('account'), key: timesOfCallers('key') } as const
interface CallersQuery {
  readonly by: keyof typeof CALLERS
  /** The accounts, or those of the keys. */
  readonly accounts: readonly number[]
  /** The keys, or nothing else than the accounts. */
  readonly names: readonly number[]
  readonly from: number
  readonly to: number
}
/** Failed calls and latencies by the number of the account or the key, of the days (UTC) that the
 *  period touches. */
export const failuresAndLatencies = async (
  database: Reader,
  now: number,
  { by, accounts, names, ...period }: CallersQuery,
): Promise<ReadonlyMap<number, Latencies & { readonly failed: number }>> => {
  const { first, last } = daysOf(now, period)
  if (first >= last) return new Map()
  const list = JSON.stringify([...new Set(accounts)])
  const keys = by === 'key' ? [JSON.stringify(names)] : []
  const rows = await database.read(CALLERS[by], [list, first, last, last, ...keys])
  return new Map(
    rows.map(row => [Number(row.name), { failed: Number(row.failed), ...latenciesOf(row) }]),
  )
}

const SUMS = {
  model: sumsBy('model'),
  upstream: sumsBy('upstream'),
  day: sumsBy('day'),
} as const
/** Sums of hours are read for periods of at most two days. */
const FINE = 2 * DAY
const isPart = (by: SumGroup | PartKind): by is PartKind =>
  (PART_KINDS as readonly string[]).includes(by)
/** Rows of all accounts by model, upstream, hour or day, or by model and part of a kind. */
export const sumsOfAll = (
  database: Reader,
  by: SumGroup | PartKind,
  { from, to }: { readonly from: number; readonly to: number },
  rows: number,
): Promise<readonly Row[]> => {
  if (by === 'hour') {
    const hours = [Math.floor(from / SPANS.hour) * SPANS.hour, to]
    return database.read(SUMS_BY_HOUR, [...hours, ...hours, rows])
  }
  const isFine = by !== 'day' && to - from <= FINE
  const span = SPANS[isFine ? 'hour' : 'day']
  const times = [span, Math.floor(from / span) * span, to]
  return isPart(by)
    ? database.read(SUMS_BY_PART, [...times, by, rows])
    : database.read(SUMS[by], [...times, rows])
}
/** Adds up the hours that have ended, a few at a time. */
export const addUpHours = async (
  database: Pick<Database, 'read' | 'write'>,
  now: number,
): Promise<void> => {
  for (;;) {
    const [row] = await database.read(NEXT_HOUR, [])
    const hours = row?.at == null ? undefined : addWholeHours(Number(row.at), now)
    if (!hours) return
    await database.write([hours])
  }
}
