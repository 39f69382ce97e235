/** Increments of metrics within a time, from readings that are taken again and again. Times in ms,
 *  monotonic. */
import type { MetricReading } from '../../engine/plugin.ts'

interface Sample {
  readonly at: number
  readonly readings: ReadonlyMap<string, MetricReading>
}
export interface Increment {
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly number[]
  readonly bounds: readonly number[]
}

export class Windows {
  readonly #samples: Sample[] = []
  /** How far back the readings must reach, ms. */
  readonly #longest: number

  constructor(longest: number) {
    this.#longest = longest
  }
  add(at: number, readings: readonly MetricReading[]): void {
    const keyed = new Map(readings.map(each => [keyOf(each), each]))
    const last = this.#samples.at(-1)
    // The gateway was started again: its counters began anew.
    if (last && [...last.readings].some(([key, each]) => isLower(keyed.get(key), each)))
      this.#samples.length = 0
    this.#samples.push({ at, readings: keyed })
    const [, second] = this.#samples
    if (second && second.at <= at - this.#longest) this.#samples.shift()
  }
  /** Whether the readings reach back over the last `ms`. */
  isWhole(ms: number): boolean {
    const last = this.#samples.at(-1)
    return last !== undefined && this.#baseOf(last.at - ms).at <= last.at - ms
  }
  /** The series of a counter or histogram with what was added in the last `ms`, as far as the
   *  readings reach. */
  increments(name: string, ms: number): readonly Increment[] {
    const last = this.#samples.at(-1)
    if (!last) return []
    const { readings } = this.#baseOf(last.at - ms)
    return [...last.readings.values()].flatMap(each =>
      each.name === name ? [difference(each, readings.get(keyOf(each)))] : [],
    )
  }
  /** The latest value of a gauge with these labels; undefined while no process reports it. */
  gauge(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const key = keyOf({ name, labels })
    return this.#samples.at(-1)?.readings.get(key)?.values[0]
  }
  /** The latest sample at or before a time, or the first one. */
  #baseOf(at: number): Sample {
    const base = this.#samples.findLast(sample => sample.at <= at) ?? this.#samples[0]
    return base as Sample
  }
}

const keyOf = ({ name, labels }: Pick<MetricReading, 'name' | 'labels'>): string =>
  [name, ...Object.values(labels)].join('\n')
const isCounter = ({ name, bounds }: MetricReading): boolean =>
  bounds !== undefined || name.endsWith('_total')
const isLower = (now: MetricReading | undefined, before: MetricReading): boolean =>
  isCounter(before) && (now?.values[0] ?? 0) < (before.values[0] ?? 0)
const difference = (now: MetricReading, before: MetricReading | undefined): Increment => ({
  labels: now.labels,
  bounds: now.bounds ?? [],
  values: now.values.map((value, index) => value - (before?.values[index] ?? 0)),
})

/** Seconds that 99 of 100 values are at most: the bound of the bucket. */
export const percentile99 = (increment: Increment): number => {
  const { bounds } = increment
  const rank = Math.ceil(0.99 * countOf(increment))
  let count = 0
  for (const [index, each] of countsIn(increment).entries()) {
    count += each
    if (count >= rank) return bounds[index] ?? Number.POSITIVE_INFINITY
  }
  return 0
}
export const countOf = (increment: Increment): number =>
  countsIn(increment).reduce((sum, count) => sum + count, 0)
/** Without the sum of the values, which is the last number. */
const countsIn = ({ values, bounds }: Increment): readonly number[] =>
  values.slice(0, bounds.length + 1)
