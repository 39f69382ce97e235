/** The sums of a statement, in the order in which they are shown. */
export const STATEMENT_SUMS = [
  'opening',
  'credited',
  'debited',
  'refunded',
  'charged',
  'planned',
  'closing',
] as const
