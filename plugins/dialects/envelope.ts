/** Errors of the account endpoints: /api. */
import { constant, object, text } from '../shapes.ts'
import type { Dialect } from './dialect.ts'

export const envelope: Dialect = {
  faults: {},
  statuses: {},
  schema: object({ success: constant(false), message: text }, { param: text }),
  body: ({ message, param }) => ({
    success: false,
    message,
    ...(param !== undefined && { param }),
  }),
}
