/** Descriptions of Anthropic messages for clients. */
import {
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

const message = object(
  {
    id: text,
    type: constant('message'),
    role: constant('assistant'),
    model: text,
    content: list(object({ type: text }, { text, thinking: text, id: text, name: text })),
    stop_reason: nullable(text),
    stop_sequence: nullable(text),
    usage: object(
      { input_tokens: integer, output_tokens: integer },
      {
        cache_creation_input_tokens: nullable(integer),
        cache_read_input_tokens: nullable(integer),
        server_tool_use: nullable(fields),
      },
    ),
  },
  { container: nullable(fields) },
)

export const about: FormatDescription = {
  summary: 'Answers a conversation, in the format of Anthropic messages',
  responses: () => ({
    ...json(message),
    ...events('With `stream: true`: events from `message_start` to `message_stop`'),
  }),
}
export const countSchema = object({ input_tokens: integer })
