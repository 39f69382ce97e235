/** How sure a count is that a gauge made of what it was told. */
import type { Usage } from '../slots.ts'

/** Of an answer that was cut nothing more will be known: nobody need guess again. */
export const sure = (whole: boolean): Omit<Usage, 'meters'> =>
  whole ? { estimated: false } : { estimated: true, gauged: true }
