/** OpenAI chat completions: no event names, `data: [DONE]` at the end, counts in the last chunk before it. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import { count, type Fields, type Format, fieldsOf, inner, isFields, positive } from '../format.ts'
import { openaiError } from '../openai-error.ts'
import type { SseEvent } from '../sse.ts'

export const openaiChat: Format = {
  name: 'openai-chat',
  dialect: 'openai',
  endpoint: 'openai',
  model: 'body',
  outputLimit: (_, tokens) => ['max_completion_tokens', tokens],
  usage: {
    key: 'usage',
    inEvent: ({ usage }) => (isFields(usage) ? usage : undefined),
    meters: usage => metersOf(usage),
  },
  stream: {
    usageMark: '_tokens"',
    cumulative: true,
    endMarks: ['[DONE]'],
    ends: ({ data }) => data?.trim() === '[DONE]',
    suffices: event => isFinished(event),
    asking: { member: body => asksFor(body), only: event => isCounts(event) },
    error: event => errorOf(event),
  },
}

/** `prompt_tokens` holds what was cached, written to the cache and heard; `completion_tokens` what was thought. */
const metersOf = (usage: Fields): Meters => {
  const prompt = count(usage.prompt_tokens)
  const completion = count(usage.completion_tokens)
  const read = inner(usage, 'prompt_tokens_details')
  const written = inner(usage, 'completion_tokens_details')
  const cached = Math.min(count(read.cached_tokens), prompt)
  const cacheWrite = count(read.cache_write_tokens)
  const heard = count(read.audio_tokens)
  const thinking = count(written.reasoning_tokens)
  const spoken = count(written.audio_tokens)
  // xAI counts thinking beside the completion, and its total says so.
  const beside = thinking > 0 && count(usage.total_tokens) === prompt + completion + thinking
  return positive({
    input: prompt - cached - cacheWrite - heard,
    cached,
    cache_write: cacheWrite,
    audio_input: heard,
    output: completion - spoken - (beside ? 0 : thinking),
    thinking,
    audio_output: spoken,
  })
}

/** A reason to stop, or the counts that come behind it: compatible upstreams forget the `[DONE]`. */
const isFinished = (event: SseEvent): boolean => {
  const { choices, usage } = fieldsOf(event) ?? {}
  if (!Array.isArray(choices)) return false
  if (choices.length === 0) return isFields(usage)
  return choices.every((choice: Json) => isFields(choice) && Boolean(choice.finish_reason))
}

/** Counts come in a chunk of their own without choices, to who sets `stream_options.include_usage`. */
const asksFor = ({
  stream,
  stream_options: options,
}: Fields): readonly [string, Json] | undefined => {
  if (stream !== true) return undefined
  const given = isFields(options) ? options : {}
  if (given.include_usage === true) return undefined
  return ['stream_options', { ...given, include_usage: true }]
}
const isCounts = (event: SseEvent): boolean => {
  const { choices, usage } = fieldsOf(event) ?? {}
  return Array.isArray(choices) && choices.length === 0 && isFields(usage)
}

const errorOf = (event: SseEvent): ReturnType<typeof openaiError> => {
  const fields = fieldsOf(event)
  if (!fields) return undefined
  return openaiError(event.name === 'error' && !isFields(fields.error) ? fields : fields.error)
}
