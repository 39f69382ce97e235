/** Builds the response object around the output: all members that the schema requires, including
 *  the client's own settings. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Meters } from '../../../slots.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../../fields.ts'
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
  const { id, model, now } = context
  const echo = echoOf(context.prompt.body)
  return {
    id: `resp_${id}`,
    access_programs: null,
    object: 'response',
    created_at: now,
    completed_at: status === 'completed' ? now : null,
    status,
    error,
    incomplete_details: reason ? { reason } : null,
    model,
    output,
    ...echo,
    service_tier: tier ?? echo.service_tier ?? 'default',
    usage: meters ? countsOf(meters) : null,
  }
}

const echoOf = (body: Fields): Fields => {
  const echo: { [key: string]: Json } = {}
  for (const [key, fallback] of ECHOED) echo[key] = body[key] ?? fallback
  return {
    ...echo,
    tools: lenientObjects(body, 'tools').map(tool =>
      tool.type === 'function' ? wholeTool(tool) : tool,
    ),
    text: {
      ...lenientObject(body, 'text'),
      format: lenientObject(body, 'text').format ?? { type: 'text' },
    },
    reasoning: { effort: null, summary: null, ...lenientObject(body, 'reasoning') },
    ...(body.conversation && { conversation: conversationOf(body.conversation) }),
  }
}
/** Fields that the response echoes, with their defaults. */
const ECHOED: readonly (readonly [key: string, usual: Json])[] = [
  ['background', false],
  ['frequency_penalty', 0],
  ['instructions', null],
  ['max_output_tokens', null],
  ['max_tool_calls', null],
  ['metadata', {}],
  ['parallel_tool_calls', true],
  ['presence_penalty', 0],
  ['previous_response_id', null],
  ['prompt_cache_key', null],
  ['safety_identifier', null],
  ['service_tier', 'default'],
  ['store', true],
  ['temperature', 1],
  ['tool_choice', 'auto'],
  ['top_logprobs', 0],
  ['top_p', 1],
  ['truncation', 'disabled'],
  ['user', null],
]
const wholeTool = (tool: Fields): Fields => ({
  description: null,
  parameters: null,
  strict: true,
  ...tool,
})
const conversationOf = (value: Json): Json =>
  isFields(value) ? { id: lenientText(value, 'id') ?? '' } : { id: value }
