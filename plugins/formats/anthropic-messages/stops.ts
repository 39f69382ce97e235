/** Maps stop reasons in both directions. */
import { type Fields, lenientObject } from '../fields.ts'
import type { Stop } from '../hub/answer.ts'
import type { Content } from '../hub/content.ts'

const REASONS: Readonly<Record<string, Stop['reason']>> = {
  end_turn: 'end',
  stop_sequence: 'sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'call',
  pause_turn: 'pause',
  refusal: 'refusal',
  compaction: 'end',
}
const FULL = 'model_context_window_exceeded'
/** A broken answer must not look usable; `refusal` is the closest value of this format. */
const STOP_REASONS: Readonly<Record<Stop['reason'], string>> = {
  end: 'end_turn',
  sequence: 'stop_sequence',
  length: 'max_tokens',
  call: 'tool_use',
  refusal: 'refusal',
  filter: 'refusal',
  pause: 'pause_turn',
  broken: 'refusal',
}

/** The caller of the client's tools: none, only a program of the model, or the model itself. */
export type Caller = 'none' | 'program' | 'model'
export const callerIn = (content: readonly Content[]): Caller => {
  const calls = content.filter(({ type }) => type === 'call')
  if (calls.length === 0) return 'none'
  return calls.some(call => call.type === 'call' && !call.payload) ? 'model' : 'program'
}

/** Undefined if the fields hold no stop reason. */
export const stopOf = (fields: Fields, caller: Caller): Stop | undefined => {
  const { stop_reason: raw, stop_sequence: sequence } = fields
  if (typeof raw !== 'string') return undefined
  const { explanation, category } = lenientObject(fields, 'stop_details')
  const message = explanation ?? category
  return {
    reason: correctReason(REASONS[raw] ?? 'end', caller),
    raw,
    ...(typeof sequence === 'string' && { sequence }),
    ...(typeof message === 'string' && { message }),
  }
}
/** Some upstreams end a tool call with `end_turn`. Calls made only by a program may already have
 *  been answered. */
const correctReason = (reason: Stop['reason'], caller: Caller): Stop['reason'] => {
  if (reason === 'call') return caller === 'none' ? 'end' : 'call'
  return reason === 'end' && caller === 'model' ? 'call' : reason
}

/** The stop of an answer without a stop reason. */
export const defaultStop = (caller: Caller): Stop => ({
  reason: caller === 'none' ? 'end' : 'call',
})

/** The stop fields of an answer. */
export const stopFields = ({ reason, raw, sequence, message }: Stop): Fields => {
  const word = raw === FULL && reason === 'length' ? raw : STOP_REASONS[reason]
  return {
    stop_reason: word,
    stop_sequence: sequence ?? null,
    stop_details:
      word === 'refusal' && message !== undefined
        ? { type: 'refusal', category: null, explanation: message }
        : null,
  }
}
