/** The refusals of Idempotency-Keys. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  IDEMPOTENCY_KEY_INVALID: [
    400,
    'Invalid Idempotency-Key: send one header with 1 to 255 visible ASCII characters.',
  ],
  IDEMPOTENCY_IN_FLIGHT: [
    409,
    'A request with this Idempotency-Key is in progress. Retry after it has ended.',
    { headers: { 'retry-after': '1' } },
  ],
  IDEMPOTENCY_MISMATCH: [
    422,
    'This Idempotency-Key was used for a different request. Use a new key for a new request.',
  ],
  IDEMPOTENCY_REPLY_TOO_LARGE: [
    410,
    'The request with this Idempotency-Key was completed, but its response is not stored: it exceeds %d bytes. Use a new key to run it again.',
  ],
  IDEMPOTENCY_REPLY_WITHHELD: [
    410,
    'The request with this Idempotency-Key was completed. Its response is not stored, since it may show a secret. See what it made before you use a new key.',
  ],
  IDEMPOTENCY_REPLY_LOST: [
    410,
    'The request with this Idempotency-Key was completed, but its response could not be stored. See what it changed before you use a new key.',
  ],
  IDEMPOTENCY_LOST: [
    503,
    'The Idempotency-Key could not be stored in time. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
})
