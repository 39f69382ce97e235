/** Marks usage as counted or as estimated. */
import type { Usage } from '../../slots.ts'

/** The usage of a truncated answer is final: no later stage estimates it again. */
export const certaintyOf = (isComplete: boolean): Omit<Usage, 'meters'> =>
  isComplete ? { estimated: false } : { estimated: true, isFinalEstimate: true }
