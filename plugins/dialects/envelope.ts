/** Errors of the account endpoints: /api. */
import type { Dialect } from './dialect.ts'

export const envelope: Dialect = {
  faults: {},
  statuses: {},
  body: ({ message }) => ({ success: false, message }),
}
