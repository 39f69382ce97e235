/** Compares two samples of durations: Welch's t, without the slowest measurements, which a busy
 *  machine adds. */

/** Quantile of both samples together; slower measurements are dropped. */
const CROP = 0.95

/** Beyond ±4.5 the durations differ: chance reaches that once in 150,000 times. */
export const differenceOf = (one: Float64Array, other: Float64Array): number => {
  const all = Float64Array.from([...one, ...other]).sort()
  const most = all[Math.floor(all.length * CROP)] ?? Number.POSITIVE_INFINITY
  const [a, b] = [momentsOf(one, most), momentsOf(other, most)]
  return (a.mean - b.mean) / Math.sqrt(a.variance / a.count + b.variance / b.count)
}
const momentsOf = (samples: Float64Array, most: number) => {
  const withoutSlowest = samples.filter(each => each <= most)
  const mean = withoutSlowest.reduce((sum, each) => sum + each, 0) / withoutSlowest.length
  const squares = withoutSlowest.reduce((sum, each) => sum + (each - mean) ** 2, 0)
  return { mean, variance: squares / (withoutSlowest.length - 1), count: withoutSlowest.length }
}
