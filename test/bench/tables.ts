/** Rounds, medians and Markdown tables of the bench. Pure. */
import type { Outcome } from './load.ts'

export interface Subject {
  readonly name: string
  /** Root of the measured process tree; none for the upstream alone. */
  readonly pid?: number
  readonly port: number
  readonly key: string
  /** Further headers of its requests. */
  readonly headers?: readonly string[]
  /** KiB of RSS before its first request. */
  readonly atRest?: number
}
export interface Round extends Outcome {
  /** Seconds of the whole process tree; NaN for the upstream alone. */
  readonly cpu: number
  /** KiB. */
  readonly resident: number
}
export type Rounds = ReadonlyMap<string, readonly Round[]>

export const median = (values: readonly number[]): number => {
  const ascending = [...values].sort((a, b) => a - b)
  const half = ascending.length / 2
  const low = ascending[Math.ceil(half) - 1] ?? Number.NaN
  return (low + (ascending[Math.floor(half)] ?? low)) / 2
}

/** The ratio of two subjects within each round; of all rounds the median. */
export const ratio = (rounds: Rounds, name: string, to: string, cost = perRequest): number => {
  const others = rounds.get(to) ?? []
  const pairs = (rounds.get(name) ?? []).flatMap((round, at) => {
    const other = others[at]
    return other ? [cost(round) / cost(other)] : []
  })
  return median(pairs)
}

export const perRequest = (round: Round): number => (round.cpu * 1e6) / round.requests
/** Adds the slices of one round up: sums, and medians of latencies. */
export const joinSlices = (slices: readonly Round[]): Round => {
  const sum = (value: (slice: Round) => number): number =>
    slices.reduce((all, slice) => all + value(slice), 0)
  return {
    requests: sum(({ requests }) => requests),
    failed: sum(({ failed }) => failed),
    events: sum(({ events }) => events),
    seconds: sum(({ seconds }) => seconds),
    cpu: sum(({ cpu }) => cpu),
    p50: median(slices.map(({ p50 }) => p50)),
    p99: median(slices.map(({ p99 }) => p99)),
    delay50: median(slices.map(({ delay50 }) => delay50)),
    delay99: median(slices.map(({ delay99 }) => delay99)),
    resident: slices.at(-1)?.resident ?? Number.NaN,
  }
}

export const figure = (value: number, digits = 1): string =>
  Number.isFinite(value) ? value.toFixed(digits) : ''

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? '---' : '--:')), ...rows]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
