/** Errors in Anthropic's dialect: /v1/messages. */
import { type Dialect, isStreamInBody } from './dialect.ts'

export const anthropic: Dialect = {
  faults: {
    INSUFFICIENT: { type: 'billing_error', status: 403 },
    KEY_EXHAUSTED: { type: 'billing_error', status: 403 },
  },
  statuses: {
    400: { type: 'invalid_request_error' },
    401: { type: 'authentication_error' },
    402: { type: 'billing_error' },
    403: { type: 'permission_error' },
    404: { type: 'not_found_error' },
    413: { type: 'request_too_large' },
    429: { type: 'rate_limit_error' },
    500: { type: 'api_error' },
    // Anthropic's clients expect status 529 for overload.
    503: { type: 'overloaded_error', status: 529 },
    504: { type: 'timeout_error' },
    529: { type: 'overloaded_error' },
  },
  body: ({ message, id }, { type }) => ({
    type: 'error',
    error: { type, message },
    request_id: id,
  }),
  headers: ({ id }) => ({ 'request-id': id }),
  streams: isStreamInBody,
  event: body => `event: error\ndata: ${JSON.stringify(body)}\n\n`,
}
