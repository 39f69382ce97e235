/** Error events in streams of OpenAI's formats, with the HTTP status that each corresponds to. */
import type { Json } from '../../engine/plugin.ts'
import { isFields } from './fields.ts'
import { eventFields, type ReportedError } from './format.ts'
import type { SseEvent } from './stream/sse.ts'

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
  too_many_requests: 429,
  insufficient_quota: 429,
  server_error: 500,
  internal_error: 500,
  api_error: 500,
  overloaded: 503,
  overloaded_error: 503,
  service_unavailable: 503,
  timeout: 504,
}
const UNKNOWN_STATUS = 502

export const openaiError = (error: Json | undefined): ReportedError | undefined => {
  if (typeof error === 'string' && error !== '') return openaiError({ message: error })
  if (!isFields(error) || Object.keys(error).length === 0) return undefined
  const {
    message = 'The upstream reported an error.',
    type = null,
    param = null,
    code = null,
  } = error
  return {
    status: statusOf(code) ?? statusOf(type) ?? UNKNOWN_STATUS,
    body: { error: { message, type, param, code } },
  }
}

/** For endpoints with typed events: the error is under `error`, or is the event named `error`
 *  itself. */
export const openaiErrorIn = (event: SseEvent): ReturnType<typeof openaiError> => {
  const fields = eventFields(event)
  return fields && openaiError(event.name === 'error' ? (fields.error ?? fields) : fields.error)
}

/** Compatible upstreams send the status itself as the code. */
const statusOf = (code: Json): number | undefined => {
  if (typeof code === 'string') return STATUS[code] ?? statusOf(Number(code))
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
}
