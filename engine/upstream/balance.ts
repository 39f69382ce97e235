/** Picks a target for one attempt. Knows load, weight and health; knows nothing of requests. */
import type { Candidate } from './candidate.ts'

export type Balance = 'first' | 'round-robin' | 'weighted' | 'least-busy'
/** What a balance remembers between picks; one per route. */
export interface Turns {
  count: number
}
type Pick = (fit: readonly Candidate[], turns: Turns) => Candidate | undefined

const weightOf = (candidate: Candidate): number => candidate.target.weight ?? 1

const PICK: Readonly<Record<Balance, Pick>> = {
  first: fit => fit[0],
  'round-robin': (fit, turns) => fit[turns.count++ % fit.length],
  weighted: (fit, turns) => {
    const sum = fit.reduce((total, candidate) => total + weightOf(candidate), 0)
    // The golden ratio spreads consecutive picks as evenly as the weights allow, without a random source.
    const point = ((turns.count++ * 0.618_033_988_749_895) % 1) * sum
    let passed = 0
    for (const candidate of fit) {
      passed += weightOf(candidate)
      if (point < passed) return candidate
    }
    return fit[0]
  },
  'least-busy': fit =>
    fit.reduce<Candidate | undefined>((best, candidate) => {
      if (!best) return candidate
      return candidate.origin.busy * weightOf(best) < best.origin.busy * weightOf(candidate)
        ? candidate
        : best
    }, undefined),
}

/** The next candidate not yet tried; when none of them is fit, the one due soonest: never nobody while there is one. */
export const pick = (
  candidates: readonly Candidate[],
  tried: ReadonlySet<Candidate>,
  balance: Balance,
  turns: Turns,
  now: number,
): Candidate | undefined => {
  const only = candidates[0]
  if (candidates.length === 1 && only) return tried.has(only) ? undefined : only
  const open = candidates.filter(candidate => !tried.has(candidate))
  const fit = open.filter(candidate => candidate.origin.health.fit(now))
  if (fit.length > 0) return PICK[balance](fit, turns)
  return open.toSorted((one, two) => one.origin.health.until - two.origin.health.until)[0]
}
