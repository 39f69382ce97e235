/** Descriptions of OpenAI responses for clients. */
import {
  any,
  boolean,
  constant,
  events,
  fields,
  integer,
  json,
  list,
  nullable,
  number,
  object,
  oneOf,
  text,
} from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const usage = object(
  { input_tokens: integer, output_tokens: integer, total_tokens: integer },
  { input_tokens_details: fields, output_tokens_details: fields },
)
const item = object(
  { type: text },
  { id: text, status: nullable(text), role: text, content: nullable(list(fields)) },
)
export const responseSchema = object(
  {
    id: text,
    object: constant('response'),
    created_at: number,
    status: oneOf('completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete'),
    model: text,
    output: list(item),
    error: nullable(object({ code: text, message: text })),
    incomplete_details: nullable(fields),
  },
  {
    completed_at: nullable(number),
    background: nullable(boolean),
    instructions: any,
    metadata: nullable(fields),
    previous_response_id: nullable(text),
    conversation: nullable(fields),
    store: boolean,
    tools: list(fields),
    tool_choice: any,
    usage: nullable(usage),
  },
)

export const about: FormatDescription = {
  summary: 'Answers a conversation, in the format of OpenAI responses',
  responses: () => ({
    ...json(responseSchema),
    ...events('With `stream: true`: events `response.…`, the last of which has the response'),
  }),
}

export const compactionAbout: FormatDescription = {
  summary: 'Compacts a conversation: its user messages, and one item for the rest',
  responses: () =>
    json(
      object(
        {
          id: text,
          object: constant('response.compaction'),
          created_at: number,
          output: list(item),
        },
        { usage },
      ),
    ),
}
/** A token count. */
export const countSchema = object({
  object: constant('response.input_tokens'),
  input_tokens: integer,
})
