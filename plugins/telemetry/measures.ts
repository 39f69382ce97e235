/** The metrics of one process: durations and times to the first chunk as histograms, tokens and
 *  charges as sums. All are cumulative since the process started. */
import type { Attributes, Metric } from './otlp.ts'
import type { MetricNames } from './semantics.ts'

/** s; those of the semantic conventions. */
const BOUNDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
/** More series are counted in one without attributes. */
const MOST_SERIES = 1_000

/** The measurements of one call. Times are in s. */
export interface Measurement {
  readonly operation: string
  readonly provider: string
  readonly model: string
  /** A code, or an empty text. */
  readonly error: string
  readonly seconds: number
  readonly firstChunk: number | undefined
  readonly input: number
  readonly output: number
  /** In units of the currency. */
  readonly charged: number
}
type Kind = keyof MetricNames
interface Count {
  sum: number
  count: number
  readonly buckets: number[]
}
interface Series {
  readonly attributes: Attributes
  readonly counts: Readonly<Record<Kind, Count>>
}

export class Measures {
  readonly #start = Date.now()
  readonly #series = new Map<string, Series>()
  readonly #names: MetricNames
  constructor(names: MetricNames) {
    this.#names = names
  }
  add(call: Measurement): void {
    const { counts } = this.#seriesOf(call)
    observe(counts.duration, call.seconds)
    if (call.firstChunk !== undefined) observe(counts.first, call.firstChunk)
    counts.input.sum += call.input
    counts.output.sum += call.output
    counts.charged.sum += call.charged
  }
  read(currency: string): readonly Metric[] {
    const { duration, first, input, output, charged } = this.#names
    const end = Date.now()
    const metric = (kind: Kind, name: string, unit: string): Metric => ({
      name,
      unit,
      ...(unit === 's' && { bounds: BOUNDS }),
      temporality: 'cumulative',
      start: this.#start,
      end,
      points: [...this.#series.values()].map(({ attributes, counts }) => ({
        attributes,
        ...counts[kind],
        buckets: [...counts[kind].buckets],
      })),
    })
    return [
      metric('duration', duration, 's'),
      metric('first', first, 's'),
      metric('input', input, '{token}'),
      metric('output', output, '{token}'),
      metric('charged', charged, currency),
    ]
  }
  #seriesOf({ operation, provider, model, error }: Measurement): Series {
    const own = `${operation}\n${provider}\n${model}\n${error}`
    const key = this.#series.size < MOST_SERIES || this.#series.has(own) ? own : ''
    let series = this.#series.get(key)
    if (!series) {
      const attributes = key !== '' && {
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': model,
        'error.type': error || undefined,
      }
      series = { attributes: attributes || {}, counts: newCounts() }
      this.#series.set(key, series)
    }
    return series
  }
}

const newCounts = (): Series['counts'] => {
  const count = (bounds: number): Count => ({
    sum: 0,
    count: 0,
    buckets: Array.from({ length: bounds }, () => 0),
  })
  const histogram = () => count(BOUNDS.length + 1)
  return {
    duration: histogram(),
    first: histogram(),
    input: count(0),
    output: count(0),
    charged: count(0),
  }
}
const observe = (histogram: Count, seconds: number): void => {
  let bucket = BOUNDS.findIndex(bound => seconds <= bound)
  if (bucket < 0) bucket = BOUNDS.length
  histogram.buckets[bucket] = (histogram.buckets[bucket] ?? 0) + 1
  histogram.count++
  histogram.sum += seconds
}
