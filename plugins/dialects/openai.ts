/** Errors in OpenAI's dialect: /v1 except messages. */
import { nullable, object, text } from '../shapes.ts'
import { type Dialect, type ErrorRow, isStreamInBody } from './dialect.ts'

const invalid = (code?: string): ErrorRow => ({
  type: 'invalid_request_error',
  ...(code !== undefined && { code }),
})

export const openai: Dialect = {
  faults: {
    REQUIRED_PARAMETER: invalid('missing_required_parameter'),
    UNKNOWN_PARAMETER: invalid('unknown_parameter'),
    UNSUPPORTED_PARAMETER: invalid('unsupported_parameter'),
    EMPTY_PARAMETER: invalid('invalid_value'),
    INVALID_TYPE: invalid('invalid_type'),
    MEMBER_TYPE: invalid('invalid_type'),
    MEMBER_MISSING: invalid('missing_required_parameter'),
    MEMBER_VALUE: invalid('invalid_value'),
    CONTENT_UNSUPPORTED: invalid('unsupported_value'),
    TOOL_UNSUPPORTED: invalid('unsupported_value'),
    TOOL_LIMITED: invalid('unsupported_value'),
    FIELD_LOST: invalid('unsupported_parameter'),
    INVALID_VALUE: invalid('invalid_value'),
    INVALID_SIZE: invalid('invalid_value'),
    OUT_OF_RANGE: invalid('invalid_value'),
    PREVIOUS_UNKNOWN: invalid('previous_response_not_found'),
    CONTEXT_TOO_LONG: invalid('context_length_exceeded'),
    CONTEXT_TWICE: invalid('mutually_exclusive_parameters'),
    CONVERSATION_MISSING: invalid('conversation_not_found'),
    MODEL_MISSING: invalid('missing_required_parameter'),
    MODEL_UNKNOWN: invalid('model_not_found'),
    MODEL_FORBIDDEN: invalid('model_not_found'),
    MODEL_NOT_HERE: invalid('model_not_found'),
    MODEL_ONLY: invalid(),
    INSUFFICIENT: { type: 'insufficient_quota', code: 'insufficient_user_quota', status: 403 },
    KEY_EXHAUSTED: {
      type: 'insufficient_quota',
      code: 'pre_consume_token_quota_failed',
      status: 403,
    },
    IDEMPOTENCY_IN_FLIGHT: { type: 'idempotency_error', code: 'idempotency_key_in_use' },
    IDEMPOTENCY_MISMATCH: { type: 'idempotency_error', code: 'idempotency_key_reused' },
    RATE_LIMITED: { type: 'requests', code: 'rate_limit_exceeded' },
    TOKENS_LIMITED: { type: 'tokens', code: 'rate_limit_exceeded' },
    TOKENS_TOO_MANY: { type: 'tokens', code: 'rate_limit_exceeded' },
    CONCURRENCY_EXCEEDED: { type: 'requests', code: 'rate_limit_exceeded' },
    DRAINING: { type: 'server_error', code: 'service_unavailable' },
  },
  statuses: {
    400: invalid(),
    401: invalid('invalid_api_key'),
    402: { type: 'insufficient_quota', code: 'insufficient_quota' },
    403: { type: 'permission_error', code: 'permission_denied' },
    404: invalid(),
    409: { type: 'conflict_error', code: 'conflict' },
    413: invalid('request_too_large'),
    415: invalid('unsupported_media_type'),
    429: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
    500: { type: 'server_error' },
    502: { type: 'server_error', code: 'upstream_error' },
    503: { type: 'server_error', code: 'service_unavailable' },
    504: { type: 'server_error', code: 'upstream_timeout' },
    529: { type: 'server_error', code: 'overloaded', status: 503 },
  },
  schema: object({
    error: object({
      message: text,
      type: text,
      param: nullable(text),
      code: nullable({ type: ['string', 'integer'] }),
    }),
  }),
  body: ({ message, param, id }, { type, code }) => ({
    error: {
      message: `${message} (request id: ${id})`,
      type,
      param: param ?? null,
      code: code ?? null,
    },
  }),
  limitHeaders: {
    limit: unit => `x-ratelimit-limit-${unit}`,
    remaining: unit => `x-ratelimit-remaining-${unit}`,
    reset: unit => `x-ratelimit-reset-${unit}`,
    until: ms => duration(ms),
  },
  streams: isStreamInBody,
  event: body => `data: ${JSON.stringify(body)}\n\n`,
}

/** `120ms`, `6s`, `6m0s`, `1h0m0s`: the largest unit first, as Go writes durations. */
const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(1, Math.ceil(ms))}ms`
  const seconds = Math.ceil(ms / 1_000)
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  if (hours > 0) return `${hours}h${minutes}m${seconds % 60}s`
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`
}
