/** Descriptions of Gemini's interactions for clients. */
import { events, fields, integer, json, list, object, text } from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

export const interaction = object(
  { id: text, status: text },
  {
    model: text,
    steps: list(fields),
    created: text,
    updated: text,
    previous_interaction_id: text,
    usage: object(
      {},
      {
        total_input_tokens: integer,
        total_cached_tokens: integer,
        total_output_tokens: integer,
        total_thought_tokens: integer,
        total_tool_use_tokens: integer,
        total_tokens: integer,
      },
    ),
  },
)
export const about: FormatDescription = {
  summary: "Answers a conversation, in the format of Gemini's interactions",
  responses: () => ({
    ...json(interaction),
    ...events(
      'With `stream: true`: interaction.created, step.start, step.delta, step.stop and interaction.completed',
    ),
  }),
}
