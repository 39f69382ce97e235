/** Builds the response object around the output: all members that the schema requires, including
 *  the client's own settings. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Meters } from '../../../slots.ts'
import {
  type Fields,
  isFields,
  joinText,
  lenientObject,
  lenientObjects,
  lenientText,
} from '../../fields.ts'
import type { EncodeContext } from '../../hub/codec.ts'
import type { Ending } from '../stops.ts'
import { countsOf } from '../usage.ts'

/** The progress of the response. */
export interface ResponseState {
  readonly status: 'in_progress' | Ending['status']
  readonly reason?: Ending['reason']
  readonly error?: { readonly code: string; readonly message: string }
  readonly output: readonly Fields[]
  readonly meters?: Meters | undefined
  readonly tier?: string | undefined
}

export const responseOf = (context: EncodeContext, state: ResponseState): Fields => {
  const { status, reason, error = null, output, meters, tier } = state
  const { id, model, now, prompt } = context
  const { body } = prompt
  const text = lenientObject(body, 'text')
  return {
    id: joinText('resp_', id),
    access_programs: null,
    object: 'response',
    created_at: now,
    completed_at: status === 'completed' ? now : null,
    status,
    error,
    incomplete_details: reason ? { reason } : null,
    model,
    output,
    background: body.background ?? false,
    frequency_penalty: body.frequency_penalty ?? 0,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    presence_penalty: body.presence_penalty ?? 0,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    safety_identifier: body.safety_identifier ?? null,
    service_tier: tier ?? body.service_tier ?? 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    tool_choice: body.tool_choice ?? 'auto',
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    user: body.user ?? null,
    tools: lenientObjects(body, 'tools').map(tool =>
      tool.type === 'function' ? wholeTool(tool) : tool,
    ),
    text: { ...text, format: text.format ?? { type: 'text' } },
    reasoning: { effort: null, summary: null, ...lenientObject(body, 'reasoning') },
    usage: meters ? countsOf(meters) : null,
    ...(body.conversation && { conversation: conversationOf(body.conversation) }),
  }
}
const wholeTool = (tool: Fields): Fields => ({
  description: null,
  parameters: null,
  strict: true,
  ...tool,
})
const conversationOf = (value: Json): Json =>
  isFields(value) ? { id: lenientText(value, 'id') ?? '' } : { id: value }
