/** Why an answer ended, both ways. */
import type { Stop } from '../answer.ts'
import type { Content } from '../content.ts'
import { type Fields, inner } from '../fields.ts'

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
/** An answer whose model failed at it is nothing to go on with: of the words there are, that is a refusal. */
const WORDS: Readonly<Record<Stop['reason'], string>> = {
  end: 'end_turn',
  sequence: 'stop_sequence',
  length: 'max_tokens',
  call: 'tool_use',
  refusal: 'refusal',
  filter: 'refusal',
  pause: 'pause_turn',
  broken: 'refusal',
}

/** Who called tools of the client's: nobody, only a program of the model's, or the model itself. */
export type Called = 'nobody' | 'program' | 'model'
export const calledBy = (content: readonly Content[]): Called => {
  const calls = content.filter(({ type }) => type === 'call')
  if (calls.length === 0) return 'nobody'
  return calls.some(call => call.type === 'call' && !call.seal) ? 'model' : 'program'
}

/** Undefined while nothing is said of it. */
export const stopOf = (fields: Fields, called: Called): Stop | undefined => {
  const { stop_reason: raw, stop_sequence: sequence } = fields
  if (typeof raw !== 'string') return undefined
  const { explanation, category } = inner(fields, 'stop_details')
  const message = explanation ?? category
  return {
    reason: judged(REASONS[raw] ?? 'end', called),
    raw,
    ...(typeof sequence === 'string' && { sequence }),
    ...(typeof message === 'string' && { message }),
  }
}
/** Some upstreams end a turn that calls a tool with the word for any other turn. What a program called may have been
 *  answered by then. */
const judged = (reason: Stop['reason'], called: Called): Stop['reason'] => {
  if (reason === 'call') return called === 'nobody' ? 'end' : 'call'
  return reason === 'end' && called === 'model' ? 'call' : reason
}

/** The end of an answer that says nothing of it. */
export const silentStop = (called: Called): Stop => ({
  reason: called === 'nobody' ? 'end' : 'call',
})

/** The members of an answer that tell it. */
export const stopFields = ({ reason, sequence, message }: Stop): Fields => {
  const word = WORDS[reason]
  return {
    stop_reason: word,
    stop_sequence: sequence ?? null,
    stop_details:
      word === 'refusal' && message !== undefined
        ? { type: 'refusal', category: null, explanation: message }
        : null,
  }
}
