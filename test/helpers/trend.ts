/** Tells whether a series grows, by the median slope of its samples. */

export type Sample = readonly [at: number, value: number]

/** Theil–Sen estimator: the median of the slopes between all pairs, which single outliers do not
 *  change. Value per unit of time. */
export const theilSen = (samples: readonly Sample[]): number => {
  const slopes = samples.flatMap(([x, y], index) =>
    samples.slice(index + 1).map(([u, v]) => (v - y) / (u - x)),
  )
  return slopes.sort((a, b) => a - b)[Math.floor(slopes.length / 2)] ?? 0
}

/** Returns the samples after the warm-up. */
export const afterWarmUp = (samples: readonly Sample[], warmUp: number): readonly Sample[] => {
  const start = samples[0]?.[0] ?? 0
  return samples.filter(([at]) => at - start >= warmUp)
}
