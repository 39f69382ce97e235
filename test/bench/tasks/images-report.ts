/** The figures of tasks with images, and their table. Pure. */
import type { Outcome } from '../load.ts'
import { figure, median, table } from '../tables.ts'

/** Large creates at once. */
export const BURST = { count: 20, size: 14_000_000 }

export interface Bursts {
  /** Of tasks. */
  readonly burst: Burst
  /** Of background responses. */
  readonly backgroundBurst: Burst
  /** ms that `JSON.parse` and `JSON.stringify` of such a body take here. */
  readonly codec: number
}
export interface TaskImages extends Bursts {
  readonly count: number
  /** Bytes of the image of each task. */
  readonly size: number
  /** Of each round: calls with no task; with as many unfinished tasks of small images, whose polls
   *  cost the same; and with those of large ones. */
  readonly calls: Readonly<Record<'none' | 'small' | 'large', readonly Outcome[]>>
  readonly refusedCreates: number
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
  const { count, size, calls, refusedCreates } = findings
  const times = (name: Percentile): string => {
    const kinds = [calls.none, calls.small, calls.large]
    const ms = kinds.map(rounds => figure(median(rounds.map(round => round[name]))))
    const [small, large] = [slowdown(findings, 'small', name), slowdown(findings, 'large', name)]
    return `${ms.join(' / ')} (× ${figure(small, 2)}, × ${figure(large, 2)})`
  }
  const callsTable = table(
    [
      'tasks with images',
      'MB each',
      'call p50 ms: no task / small images / these (× of none)',
      'call p99 ms',
      'calls refused',
      'creates refused',
    ],
    [
      [
        String(count),
        figure(size / 1e6, 1),
        times('p50'),
        times('p99'),
        String(calls.large.reduce((sum, { failed }) => sum + failed, 0)),
        String(refusedCreates),
      ],
    ],
  )
  return `${callsTable}\n\n${burstsTable(findings)}`
}
const burstsTable = ({ burst, backgroundBurst, codec }: Bursts): string => {
  const row = (name: string, { refused, duration, silence }: Burst): readonly string[] => [
    name,
    String(refused),
    figure(duration),
    figure(silence),
    figure(silence / codec, 2),
  ]
  return table(
    [
      `${BURST.count} creates of ${BURST.size / 1e6} MB at once`,
      'refused',
      'ms',
      'longest silence of a worker ms',
      `× parse and stringify of one (${figure(codec)} ms)`,
    ],
    [row('tasks', burst), row('background responses', backgroundBurst)],
  )
}
