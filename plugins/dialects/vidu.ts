/** Errors of the video task endpoints: /ent/v2. Clients read `reason` and show `message`. */
import { integer, object, text } from '../shapes.ts'
import { bareId } from '../slots.ts'
import type { Dialect } from './dialect.ts'

export const vidu: Dialect = {
  faults: {
    REQUIRED_PARAMETER: { type: 'FieldLacking', message: 'field is missing or empty: %s' },
    EMPTY_PARAMETER: { type: 'FieldLacking', message: 'field is missing or empty: %s' },
    UNSUPPORTED_PARAMETER: { type: 'FieldUnwanted', message: 'unwanted field: %s' },
    UNKNOWN_PARAMETER: { type: 'FieldUnwanted', message: 'unwanted field: %s' },
    INVALID_TYPE: { type: 'FieldInvalid', message: 'invalid field: %s' },
    INVALID_VALUE: { type: 'FieldInvalid', message: 'invalid field: %s' },
    OUT_OF_RANGE: { type: 'FieldInvalid', message: 'invalid field: %s' },
    INVALID_SIZE: {
      type: 'FieldItemCountOutOfRange',
      message: 'field item count out of range: %s',
    },
    MODEL_MISSING: { type: 'FieldLacking', message: 'field is missing or empty: %s' },
    MODEL_UNKNOWN: { type: 'ModelUnavailable', status: 400, message: 'model unavailable' },
    MODEL_FORBIDDEN: { type: 'ModelUnavailable', status: 400, message: 'model unavailable' },
    MODEL_NOT_HERE: { type: 'ModelUnavailable', status: 400, message: 'model unavailable' },
    MODEL_ONLY: { type: 'ModelUnavailable', status: 400, message: 'model unavailable' },
    INSUFFICIENT: { type: 'CreditInsufficient', status: 400 },
    KEY_EXHAUSTED: { type: 'CreditInsufficient', status: 400 },
    CONCURRENCY_EXCEEDED: { type: 'QuotaExceeded' },
    DRAINING: { type: 'SystemThrottling' },
    OVERLOADED: { type: 'SystemThrottling' },
  },
  statuses: {
    400: { type: 'BadRequest' },
    401: { type: 'Unauthorized' },
    403: { type: 'Forbidden' },
    404: { type: 'NotFound' },
    409: { type: 'Conflict' },
    429: { type: 'TooManyRequests' },
    499: { type: 'Canceled' },
    500: { type: 'InternalServiceFailure' },
  },
  schema: object({
    code: integer,
    reason: text,
    message: text,
    metadata: object({ trace_id: text }),
  }),
  body: ({ status, message, id }, row) => ({
    code: row.status ?? status,
    reason: row.type,
    message,
    // 32 hexadecimal digits, like the upstream's trace ids.
    metadata: { trace_id: bareId({ id }) },
  }),
}
