/** Errors in Anthropic's dialect: /v1/messages. */
import { constant, fields, object, text } from '../shapes.ts'
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
  schema: object({
    type: constant('error'),
    error: object({ type: text, message: text }, { details: fields }),
    request_id: text,
  }),
  body: ({ message, id }, { type, details }) => ({
    type: 'error',
    error: { type, message, ...(details && { details }) },
    request_id: id,
  }),
  headers: ({ id }) => ({ 'request-id': id }),
  limitHeaders: {
    limit: unit => `anthropic-ratelimit-${unit}-limit`,
    remaining: unit => `anthropic-ratelimit-${unit}-remaining`,
    reset: unit => `anthropic-ratelimit-${unit}-reset`,
    until: ms => timestamp(ms),
  },
  streams: isStreamInBody,
  ping: 'event: ping\ndata: {"type": "ping"}\n\n',
  event: body => `event: error\ndata: ${JSON.stringify(body)}\n\n`,
}

/** RFC 3339, rounded up to a second. */
const timestamp = (ms: number): string =>
  new Date(Math.ceil((Date.now() + ms) / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
