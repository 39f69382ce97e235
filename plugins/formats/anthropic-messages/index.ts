/** Anthropic messages: named events, counts at the start and near the end, `message_stop` last. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, type Format, fieldsOf, inner, isFields, positive } from '../format.ts'
import type { SseEvent } from '../sse.ts'

/** What each type of error would have been as a status. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

export const anthropicMessages: Format = {
  name: 'anthropic-messages',
  dialect: 'anthropic',
  endpoint: 'anthropic',
  model: 'body',
  headers: { 'anthropic-version': '2023-06-01' },
  outputLimit: (_, tokens) => ['max_tokens', tokens],
  usage: {
    key: 'usage',
    inEvent: event => {
      const usage = event.type === 'message_start' ? inner(event, 'message').usage : event.usage
      return isFields(usage) ? usage : undefined
    },
    meters: usage => metersOf(usage),
  },
  stream: {
    usageMark: 'usage"',
    cumulative: false, // what was read is counted at the start, what was written at the end
    endMarks: ['message_stop'],
    ends: event => typeOf(event) === 'message_stop',
    suffices: event => Boolean(inner(fieldsOf(event) ?? {}, 'delta').stop_reason),
    error: event => errorOf(event),
  },
}

const typeOf = (event: SseEvent): string => {
  if (event.name !== '') return event.name
  const type = fieldsOf(event)?.type
  return typeof type === 'string' ? type : ''
}

/** `input_tokens` is what was neither cached nor written to the cache; `output_tokens` holds what was thought. */
const metersOf = (usage: Fields): Meters => {
  const written = count(usage.cache_creation_input_tokens)
  const hour = Math.min(count(inner(usage, 'cache_creation').ephemeral_1h_input_tokens), written)
  const thinking = count(inner(usage, 'output_tokens_details').thinking_tokens)
  return positive({
    input: count(usage.input_tokens),
    cached: count(usage.cache_read_input_tokens),
    cache_write: written - hour,
    cache_write_1h: hour,
    output: count(usage.output_tokens) - thinking,
    thinking,
    web_search: count(inner(usage, 'server_tool_use').web_search_requests),
  })
}

const errorOf = (
  event: SseEvent,
): { readonly status: number; readonly body: Fields } | undefined => {
  if (typeOf(event) !== 'error') return undefined
  const body = fieldsOf(event)
  const type = body && inner(body, 'error').type
  return body && { status: (typeof type === 'string' && STATUS[type]) || 502, body }
}
