/** The figures of tasks with images, and their table. Pure. */
import type { Outcome } from '../load.ts'
import { figure, table } from '../tables.ts'

/** Large creates at once. */
export const BURST = { count: 20, size: 14_000_000 }

export interface TaskImages {
  readonly count: number
  /** Bytes of the image of each task. */
  readonly size: number
  /** Calls with no task, and with all of them unfinished. */
  readonly calls: readonly [before: Outcome, after: Outcome]
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

export const taskImagesTable = ({ count, size, calls, refusedCreates, burst }: TaskImages) => {
  const [before, after] = calls
  const times = (name: 'p50' | 'p99'): string =>
    `${figure(before[name])} / ${figure(after[name])} (× ${figure(after[name] / before[name], 2)})`
  return table(
    [
      'tasks with images',
      'MB each',
      'call p50 ms before/after',
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
        String(after.failed),
        String(refusedCreates),
        `${burst.refused}, ${figure(burst.duration)}, ${figure(burst.silence)}`,
      ],
    ],
  )
}
