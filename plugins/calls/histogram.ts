/** Histograms of times in ms: counts of buckets whose bounds grow by the square root of two.
 *  Pure. */
const BUCKETS = 40
/** ms; the last bound is 100 minutes, and takes all that is longer. */
const FIRST_BOUND = 8
const boundOf = (bucket: number): number => (bucket < 0 ? 0 : FIRST_BOUND * 2 ** (bucket / 2))

export type Histogram = readonly number[]
export const emptyHistogram = (): number[] => new Array<number>(BUCKETS).fill(0)
export const addTime = (counts: number[], ms: number): void => {
  const bucket = ms <= FIRST_BOUND ? 0 : Math.ceil(2 * Math.log2(ms / FIRST_BOUND))
  const index = Math.min(bucket, BUCKETS - 1)
  counts[index] = (counts[index] ?? 0) + 1
}
/** The ms that a share of the times is at most, within its bucket by proportion: at most 41 % off.
 *  Null without times. */
export const quantileOf = (counts: Histogram, share: number): number | null => {
  const rank = Math.ceil(share * counts.reduce((sum, count) => sum + count, 0))
  if (rank === 0) return null
  let before = 0
  for (const [bucket, count] of counts.entries()) {
    if (before + count >= rank) {
      const [low, high] = [boundOf(bucket - 1), boundOf(bucket)]
      return Math.round(low + ((high - low) * (rank - before)) / count)
    }
    before += count
  }
  return null
}

// ---------------------------------------------------------------- columns

/** One for each bucket: `first0`, `first1`, …: to the first content; `whole0`, …: of the whole
 *  call. */
const MEASURES = ['first', 'whole'] as const
export const BUCKET_COLUMNS: readonly string[] = MEASURES.flatMap(name =>
  Array.from({ length: BUCKETS }, (_, bucket) => `${name}${bucket}`),
)
/** Both histograms as the values of those columns. */
export const bucketValues = (first: Histogram, whole: Histogram): readonly number[] => [
  ...first,
  ...whole,
]
/** p50 and p99 in a row of sums of those columns. */
export const latenciesOf = (row: Readonly<Record<string, unknown>>) => {
  const [first = [], whole = []] = MEASURES.map(name =>
    Array.from({ length: BUCKETS }, (_, bucket) => Number(row[`${name}${bucket}`] ?? 0)),
  )
  return {
    first_content_p50_ms: quantileOf(first, 0.5),
    first_content_p99_ms: quantileOf(first, 0.99),
    p50_ms: quantileOf(whole, 0.5),
    p99_ms: quantileOf(whole, 0.99),
  }
}
