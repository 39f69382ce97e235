/** The words all tables of the bench are made of. Pure. */
import type { Outcome } from './load.ts'

export interface Round extends Outcome {
  /** Seconds of the whole process tree; NaN for the upstream alone. */
  readonly cpu: number
  /** KiB. */
  readonly resident: number
}
export type Rounds = ReadonlyMap<string, readonly Round[]>

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((left, right) => left - right)
  const half = sorted.length / 2
  const low = sorted[Math.ceil(half) - 1] ?? Number.NaN
  return (low + (sorted[Math.floor(half)] ?? low)) / 2
}

/** Slices of one round as one: sums, and medians of what cannot be added. */
export const joined = (slices: readonly Round[]): Round => {
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
    resident: slices.at(-1)?.resident ?? Number.NaN,
  }
}

export const figure = (value: number, digits = 1): string =>
  Number.isNaN(value) ? '' : value.toFixed(digits)

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, index) => (index === 0 ? '---' : '--:')), ...rows]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
