/** Metrics since an earlier report, for receivers that do not take cumulative ones. Pure. */
import type { Metric, Point } from './otlp.ts'

/** `earlier`: the last report that the receiver accepted, of the same measures; undefined: none.
 *  Series without a change are left out. */
export const deltasOf = (
  metrics: readonly Metric[],
  earlier: readonly Metric[] | undefined,
): readonly Metric[] =>
  metrics.flatMap((metric, index) => {
    const before = earlier?.[index]
    // A series has the same attributes, as an object, in every report.
    const known = new Map(before?.points.map(point => [point.attributes, point]))
    const points = metric.points
      .map(point => changeOf(point, known.get(point.attributes)))
      .filter(({ sum, count }) => sum !== 0 || count > 0)
    const start = before?.end ?? metric.start
    return points.length === 0 ? [] : [{ ...metric, temporality: 'delta', start, points }]
  })

const changeOf = (point: Point, before: Point | undefined): Point =>
  before
    ? {
        attributes: point.attributes,
        sum: point.sum - before.sum,
        count: point.count - before.count,
        buckets: point.buckets.map((count, index) => count - (before.buckets[index] ?? 0)),
      }
    : point
