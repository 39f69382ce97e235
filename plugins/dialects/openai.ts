/** Errors as OpenAI's clients read them: /v1 except messages. */
import type { Dialect, Row } from './dialect.ts'

const invalid = (code?: string): Row => ({
  type: 'invalid_request_error',
  ...(code !== undefined && { code }),
})

export const openai: Dialect = {
  faults: {
    REQUIRED_PARAMETER: invalid('missing_required_parameter'),
    UNKNOWN_PARAMETER: invalid('unknown_parameter'),
    INVALID_TYPE: invalid('invalid_type'),
    INVALID_VALUE: invalid('invalid_value'),
    INVALID_SIZE: invalid('invalid_value'),
    OUT_OF_RANGE: invalid('invalid_value'),
    MODEL_MISSING: invalid('missing_required_parameter'),
    MODEL_UNKNOWN: invalid('model_not_found'),
    MODEL_FORBIDDEN: invalid('model_not_found'),
    MODEL_NOT_HERE: invalid('model_not_found'),
    INSUFFICIENT: { type: 'insufficient_quota', code: 'insufficient_user_quota', status: 403 },
    KEY_EXHAUSTED: {
      type: 'insufficient_quota',
      code: 'pre_consume_token_quota_failed',
      status: 403,
    },
    // The process was taken for dead while it held money: another try finds one that lives.
    SHARE_GONE: { type: 'server_error', code: 'service_unavailable', status: 503 },
    CHARGE_CLOSED: { type: 'server_error', code: 'service_unavailable', status: 503 },
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
  body: ({ message, param, id }, { type, code }) => ({
    error: {
      message: `${message} (request id: ${id})`,
      type,
      param: param ?? null,
      code: code ?? null,
    },
  }),
  event: body => `data: ${JSON.stringify(body)}\n\n`,
}
