/** Descriptions of OpenAI's legacy completions for clients. */
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

const completion = object(
  {
    id: text,
    object: constant('text_completion'),
    created: integer,
    model: text,
    choices: list(
      object({
        index: integer,
        text,
        logprobs: nullable(fields),
        finish_reason: nullable(text),
      }),
    ),
  },
  {
    usage: object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer }),
    system_fingerprint: nullable(text),
  },
)

export const about: FormatDescription = {
  summary: 'Answers a text, in the format of the legacy completions of OpenAI',
  responses: () => ({
    ...json(completion),
    ...events('With `stream: true`: events `data: {…}` of text_completion, then `[DONE]`'),
  }),
}
