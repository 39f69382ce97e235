/** Metrics of calls and charges by tag. Values that clients choose are bounded: the others count as
 *  `other`. */
import type { HostBase, Metrics } from '../../engine/plugin.ts'
import type { Tags } from '../slots.ts'

/** Of a tag, in metrics of a worker. */
const MOST_VALUES = 100

export class TagMetrics {
  readonly #metrics: Metrics
  /** By tag, of all versions of the configuration in this worker. */
  readonly #values: Map<string, Set<string>>
  constructor(host: Pick<HostBase, 'metrics' | 'share'>) {
    this.#metrics = host.metrics
    this.#values = host.share('tags: values', '1', () => new Map())
  }
  /** A call that ended, with its charge in units of the currency. */
  countCall(tags: Tags, cost: number): void {
    for (const labels of this.#labelsOf(tags)) this.#metrics.count('tagged_calls_total', labels)
    this.countCharge(tags, cost)
  }
  /** The charge of a call that ended before: of a task. */
  countCharge(tags: Tags, cost: number): void {
    if (cost <= 0) return
    for (const labels of this.#labelsOf(tags))
      this.#metrics.count('tagged_charged_total', labels, cost)
  }
  #labelsOf(tags: Tags) {
    return Object.entries(tags).map(([tag, value]) => ({ tag, value: this.#labelOf(tag, value) }))
  }
  #labelOf(tag: string, value: string): string {
    const values = this.#values.get(tag) ?? new Set()
    this.#values.set(tag, values)
    if (!values.has(value) && values.size >= MOST_VALUES) return 'other'
    values.add(value)
    return value
  }
}
