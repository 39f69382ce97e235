/** A response object without output, for responses that the gateway makes itself. Pure. */
import type { Fields } from '../formats/fields.ts'

export const unfinishedResponse = (
  { id, created, model }: { readonly id: string; readonly created: number; readonly model: string },
  body: Fields,
): Fields => ({
  id,
  object: 'response',
  created_at: Math.floor(created / 1_000),
  completed_at: null,
  status: 'queued',
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
  model,
  instructions: body.instructions ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  tools: body.tools ?? [],
  temperature: body.temperature ?? 1,
  top_p: body.top_p ?? 1,
  tool_choice: body.tool_choice ?? 'auto',
  text: body.text ?? {},
})
