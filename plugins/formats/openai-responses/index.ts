/** OpenAI responses: named events, numbered; the last one carries the whole response and its counts. No `[DONE]`. */
import type { Bytes } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, type Format, fieldsOf, inner, isFields, positive } from '../format.ts'
import { openaiError } from '../openai-error.ts'
import { type SseEvent, writeEvent } from '../sse.ts'

const ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

export const openaiResponses: Format = {
  name: 'openai-responses',
  dialect: 'openai',
  endpoint: 'openai-response',
  model: 'body',
  outputLimit: (_, tokens) => ['max_output_tokens', tokens],
  usage: {
    key: 'usage',
    inEvent: event => {
      const { usage } = inner(event, 'response')
      return isFields(usage) ? usage : undefined
    },
    meters: usage => metersOf(usage),
  },
  stream: {
    // The whole response, as it stands in the first events and in the one that ends the stream.
    usageMark: 'ponse":',
    cumulative: true,
    endMarks: ['ponse":'],
    ends: event => ENDS.has(typeOf(event)),
    suffices: () => false,
    error: event => errorOf(event),
    failure: (body, last) => failure(body, last),
  },
}

const typeOf = (event: SseEvent): string => {
  if (event.name !== '') return event.name
  const type = fieldsOf(event)?.type
  return typeof type === 'string' ? type : ''
}

/** `input_tokens` holds what was cached and written to the cache; `output_tokens` what was thought. */
const metersOf = (usage: Fields): Meters => {
  const input = count(usage.input_tokens)
  const read = inner(usage, 'input_tokens_details')
  const cached = Math.min(count(read.cached_tokens), input)
  const cacheWrite = count(read.cache_write_tokens)
  const thinking = count(inner(usage, 'output_tokens_details').reasoning_tokens)
  return positive({
    input: input - cached - cacheWrite,
    cached,
    cache_write: cacheWrite,
    output: count(usage.output_tokens) - thinking,
    thinking,
  })
}

/** Flat as specified, or nested as some upstreams write it. */
const errorOf = (event: SseEvent): ReturnType<typeof openaiError> => {
  if (typeOf(event) !== 'error') return undefined
  const fields = fieldsOf(event)
  if (!fields) return undefined
  return openaiError(isFields(fields.error) ? fields.error : { ...fields, type: null })
}

const failure = (body: Fields, last: SseEvent | undefined): Bytes => {
  const { code = null, message = '', param = null } = isFields(body.error) ? body.error : {}
  const before = last && fieldsOf(last)?.sequence_number
  const sequence = typeof before === 'number' ? before + 1 : 0
  return writeEvent('error', { type: 'error', code, message, param, sequence_number: sequence })
}
