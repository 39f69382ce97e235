/** Mutations that change nothing that a caller can observe, each with the reason. */

export interface Equivalent {
  readonly file: string
  /** A part of the mutated line. */
  readonly line: string
  /** As `npm run test:mutate` prints it. */
  readonly summary: string
  readonly reason: string
}
export const EQUIVALENT: readonly Equivalent[] = []
