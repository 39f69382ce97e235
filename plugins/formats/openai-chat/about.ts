/** Descriptions of OpenAI chat completions for clients. */
import {
  boolean,
  constant,
  events,
  fields,
  integer,
  json,
  list,
  nullable,
  object,
  text,
} from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const call = object(
  { id: text, type: text },
  { function: object({ name: text, arguments: text }), custom: fields },
)
const message = object(
  { role: constant('assistant'), content: nullable(text) },
  {
    refusal: nullable(text),
    reasoning_content: nullable(text),
    tool_calls: list(call),
    annotations: list(fields),
    audio: nullable(fields),
    images: list(fields),
  },
)
const usage = object(
  { prompt_tokens: integer, completion_tokens: integer, total_tokens: integer },
  { prompt_tokens_details: nullable(fields), completion_tokens_details: nullable(fields) },
)
const completion = object(
  {
    id: text,
    object: constant('chat.completion'),
    created: integer,
    model: text,
    choices: list(
      object(
        { index: integer, message, finish_reason: nullable(text) },
        { logprobs: nullable(fields) },
      ),
    ),
  },
  { usage, service_tier: nullable(text), system_fingerprint: nullable(text), store: boolean },
)

export const about: FormatDescription = {
  summary: 'Answers a conversation, in the format of OpenAI chat completions',
  responses: () => ({
    ...json(completion),
    ...events('With `stream: true`: events `data: {…}` of chat.completion.chunk, then `[DONE]`'),
  }),
}
