/** Errors as OpenAI's formats write them, in the middle of a stream: which status each would have had. */
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from './fields.ts'
import { fieldsOf } from './format.ts'
import type { SseEvent } from './sse.ts'

const STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  content_policy_violation: 400,
  content_filter: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  permission_denied: 403,
  unsupported_country_region_territory: 403,
  not_found_error: 404,
  model_not_found: 404,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
  internal_error: 500,
  api_error: 500,
  overloaded: 503,
  overloaded_error: 503,
  service_unavailable: 503,
  timeout: 504,
}
const UNKNOWN = 502

export const openaiError = (
  given: Json | undefined,
): { readonly status: number; readonly body: Fields } | undefined => {
  if (!isFields(given)) return undefined
  const {
    message = 'The upstream reported an error.',
    type = null,
    param = null,
    code = null,
  } = given
  return {
    status: statusOf(code) ?? statusOf(type) ?? UNKNOWN,
    body: { error: { message, type, param, code } },
  }
}

/** Of endpoints whose streams are of typed events: under `error`, or as the event of that name itself. */
export const openaiErrorIn = (event: SseEvent): ReturnType<typeof openaiError> => {
  const fields = fieldsOf(event)
  return fields && openaiError(event.name === 'error' ? (fields.error ?? fields) : fields.error)
}

/** Compatible upstreams write the status itself as the code. */
const statusOf = (word: Json): number | undefined => {
  if (typeof word === 'string') return STATUS[word] ?? statusOf(Number(word))
  return typeof word === 'number' && word >= 400 && word < 600 ? word : undefined
}
