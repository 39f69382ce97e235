/** The faults of guards. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  GUARD_BLOCKED: [
    400,
    'The guard "%s" does not allow this %s.',
    { as: { openai: { code: 'content_filter' } } },
  ],
  GUARD_FAILED: [503, 'The guard "%s" could not decide about this %s; try again.'],
  GUARD_TOO_LARGE: [
    400,
    'The guard "%s" does not allow this %s: it is longer than the guard reads, or the guard\'s service refuses it.',
  ],
  GUARD_UNREADABLE: [400, 'The guard "%s" can read events that are JSON objects only.'],
  GUARD_OPTION: [500, 'guards.%s.words_file: %s', { expose: true }],
})
