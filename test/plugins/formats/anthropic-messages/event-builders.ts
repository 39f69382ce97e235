/** Builds messages streams event by event and decodes them. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import { assembleParts, decodeParts } from '../../../helpers/formats/codec.ts'
import { NAME } from './messages.ts'

export type Event = readonly [type: string, fields?: Fields]
const sse = (...events: readonly Event[]): string =>
  events
    .map(([type, fields]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
    .join('')

export const START: Event = [
  'message_start',
  { message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 5, output_tokens: 1 } } },
]
export const open = (index: number, content_block: Fields): Event => [
  'content_block_start',
  { index, content_block },
]
export const delta = (index: number, delta: Fields): Event => [
  'content_block_delta',
  { index, delta },
]
export const textDelta = (index: number, text: string): Event =>
  delta(index, { type: 'text_delta', text })
export const inputDelta = (index: number, partial_json: string): Event =>
  delta(index, { type: 'input_json_delta', partial_json })
export const close = (index: number): Event => ['content_block_stop', { index }]
export const end = (
  stop_reason: Json,
  usage: Fields = { output_tokens: 3 },
  more: Fields = {},
): Event => ['message_delta', { delta: { stop_reason, stop_sequence: null, ...more }, usage }]
export const STOP: Event = ['message_stop']
export const TEXT = { type: 'text', text: '' }
export const call = (id: string, name = 'look'): Fields => ({
  type: 'tool_use',
  id,
  name,
  input: {},
})

export const decodeEvents = (...events: readonly Event[]) => {
  const { parts, hasEnded } = decodeParts(NAME, sse(...events))
  const answer = assembleParts(parts)
  const [choice = { content: [], stop: undefined }] = answer.choices
  return { parts, ended: hasEnded, answer, content: choice.content, stop: choice.stop }
}
