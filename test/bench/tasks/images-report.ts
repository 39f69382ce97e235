/** The figures of tasks with images, and their table. Pure. */
import type { Outcome } from '../load.ts'
import { figure, median, table } from '../tables.ts'

/** Large creates at once. */
export const BURST = { count: 20, size: 14_000_000 }

export interface TaskImages {
  readonly count: number
  /** Bytes of the image of each task. */
  readonly size: number
  /** Of each round: calls with no task; with as many unfinished tasks of small images, whose polls
   *  cost the same; and with those of large ones. */
  readonly calls: Readonly<Record<'none' | 'small' | 'large', readonly Outcome[]>>
  readonly refusedCreates: number
  readonly burst: Burst
}
/** Large creates at once. */
export interface Burst {
  readonly refused: number
  /** ms from the first request to the last answer. */
  readonly duration: number
  /** The longest time in which a worker ran nothing else, ms. */
  readonly silence: number
}

type Percentile = 'p50' | 'p99'
/** The median over the rounds of what a call takes beside the tasks, × without them. */
export const slowdown = (
  { calls }: Pick<TaskImages, 'calls'>,
  kind: 'small' | 'large',
  name: Percentile,
): number =>
  median(calls[kind].map((round, at) => round[name] / (calls.none[at]?.[name] ?? Number.NaN)))

export const taskImagesTable = (findings: TaskImages): string => {
  const { count, size, calls, refusedCreates, burst } = findings
  const times = (name: Percentile): string => {
    const kinds = [calls.none, calls.small, calls.large]
    const ms = kinds.map(rounds => figure(median(rounds.map(round => round[name]))))
    const [small, large] = [slowdown(findings, 'small', name), slowdown(findings, 'large', name)]
    return `${ms.join(' / ')} (× ${figure(small, 2)}, × ${figure(large, 2)})`
  }
  return table(
    [
      'tasks with images',
      'MB each',
      'call p50 ms: no task / small images / these (× of none)',
      'call p99 ms',
      'calls refused',
      'creates refused',
      `${BURST.count} creates of ${BURST.size / 1e6} MB: refused, ms, longest silence ms`,
    ],
    [
      [
        String(count),
        figure(size / 1e6, 1),
        times('p50'),
        times('p99'),
        String(calls.large.reduce((sum, { failed }) => sum + failed, 0)),
        String(refusedCreates),
        `${burst.refused}, ${figure(burst.duration)}, ${figure(burst.silence)}`,
      ],
    ],
  )
}
