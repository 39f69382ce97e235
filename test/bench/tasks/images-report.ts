/** The figures of tasks with images, and their table. Pure. */
import type { Outcome } from '../load.ts'
import { figure, table } from '../tables.ts'

/** Large creates at once. */
export const BURST = { count: 20, size: 14_000_000 }

export interface TaskImages {
  readonly count: number
  /** Bytes of the image of each task. */
  readonly size: number
  /** Calls with no task; with as many unfinished tasks of small images, whose polls cost the same;
   *  and with those of large ones. */
  readonly calls: readonly [none: Outcome, small: Outcome, large: Outcome]
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
  const [none, small, large] = calls
  const times = (name: 'p50' | 'p99'): string => {
    const ratios = [none, small].map(each => `× ${figure(large[name] / each[name], 2)}`)
    return `${calls.map(each => figure(each[name])).join(' / ')} (${ratios.join(', ')})`
  }
  return table(
    [
      'tasks with images',
      'MB each',
      'call p50 ms: no task / small images / these (× of each)',
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
        String(large.failed),
        String(refusedCreates),
        `${burst.refused}, ${figure(burst.duration)}, ${figure(burst.silence)}`,
      ],
    ],
  )
}
