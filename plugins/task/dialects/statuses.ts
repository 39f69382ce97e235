/** The states of tasks in the words of the image queue, which new-api has for other tasks too. */
import { oneOf, type Shape } from '../../shapes.ts'
import type { State } from '../task.ts'

/** Each state as clients see it. */
export const STATUSES = {
  accepted: 'NOT_START',
  submitting: 'NOT_START',
  submitted: 'SUBMITTED',
  running: 'IN_PROGRESS',
  unknown: 'IN_PROGRESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
} as const satisfies Readonly<Record<State, string>>

export const taskStatus: Shape = oneOf(...new Set(Object.values(STATUSES)))
/** Tasks of a list. */
export const LIST_SIZE = 100
