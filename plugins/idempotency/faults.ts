/** What an Idempotency-Key is refused for. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  IDEMPOTENCY_KEY_INVALID: [
    400,
    'The Idempotency-Key is not acceptable: it has 1 to 255 visible ASCII characters, and comes once.',
  ],
  IDEMPOTENCY_IN_FLIGHT: [
    409,
    'A request with this Idempotency-Key is still under way. Try again when it has ended.',
    { headers: { 'retry-after': '1' } },
  ],
  IDEMPOTENCY_MISMATCH: [
    422,
    'This Idempotency-Key was used for a request with another body. Use a new key for a new request.',
  ],
  IDEMPOTENCY_REPLY_TOO_LARGE: [
    410,
    'The request with this Idempotency-Key was carried out and is not run again, but its reply was larger than the %d bytes that are kept. Use a new key to run it again.',
  ],
  IDEMPOTENCY_LOST: [
    503,
    'This Idempotency-Key could not be kept in time. Retry.',
    { headers: { 'retry-after': '1' } },
  ],
})
