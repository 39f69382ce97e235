/** Errors of the task endpoints of new-api: `code` and `message` as its tasks have them, and
 *  `error` as its authentication has it. */
import { constant, nullable, object, text } from '../shapes.ts'
import type { Dialect, ErrorRow } from './dialect.ts'
import { openai } from './openai.ts'

const row = (code: string, status?: number): ErrorRow => ({
  type: 'new_api_error',
  code,
  ...(status !== undefined && { status }),
})

export const newApi: Dialect = {
  faults: {
    MODEL_MISSING: row('missing_model'),
    MODEL_UNKNOWN: row('model_not_found'),
    MODEL_FORBIDDEN: row('model_not_found'),
    MODEL_NOT_HERE: row('model_not_found'),
    MODEL_ONLY: row('model_not_found'),
    NEW_API_MODEL: row('model_not_found'),
    NEW_API_TASK_UNKNOWN: row('task_not_exist'),
    INSUFFICIENT: row('insufficient_user_quota', 403),
    KEY_EXHAUSTED: row('pre_consume_token_quota_failed', 403),
    IDEMPOTENCY_IN_FLIGHT: row('idempotency_key_in_use'),
    IDEMPOTENCY_MISMATCH: row('idempotency_key_reused'),
  },
  statuses: {
    400: row('invalid_request'),
    401: row('invalid_api_key'),
    403: row('access_denied'),
    404: row('not_found'),
    413: row('read_request_body_failed'),
    429: row('rate_limit_exceeded'),
    500: row('internal_error'),
    502: row('do_request_failed'),
    503: row('service_unavailable'),
    504: row('do_request_failed'),
  },
  schema: object(
    { code: text, message: text, data: constant(null) },
    {
      error: object({ message: text, type: text, param: nullable(text), code: nullable(text) }),
    },
  ),
  body: (view, { type, code }) => ({
    code: String(code ?? 'invalid_request'),
    message: view.message,
    data: null,
    ...openai.body(view, { type, ...(code !== undefined && { code }) }),
  }),
}
