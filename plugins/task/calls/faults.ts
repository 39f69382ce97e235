/** Refusals of calls that run as tasks. */
import { errors } from '../../../engine/errors.ts'

export const fault = errors({
  TASK_OF_CALL_UNKNOWN: [404, 'There is no task with the id "%s".', { param: 'id' }],
  TASKS_OF_CALLS_OPEN: [
    429,
    'This account has %d unfinished tasks. Wait until one has finished.',
    { headers: { 'retry-after': '5' } },
  ],
})
