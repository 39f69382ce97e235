/** Maps finish reasons in both directions. Compatible providers have words of their own. */
import type { Json } from '../../../engine/plugin.ts'
import { lookUp } from '../fields.ts'
import type { Stop } from '../hub/answer.ts'
import type { Content } from '../hub/content.ts'

type Reason = Stop['reason']
/** In lower case. Sources: OpenAI; Mistral (`model_length`); Zhipu (`sensitive`, `network_error`,
 *  `model_context_window_exceeded`); DeepSeek (`insufficient_system_resource`); vLLM and SGLang
 *  (`abort`); Google, Anthropic and Amazon behind gateways that keep their words. */
const STOPS: Readonly<Record<string, Reason>> = {
  stop: 'end',
  end_turn: 'end',
  stop_sequence: 'sequence',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  context_length_exceeded: 'length',
  tool_calls: 'call',
  tool_use: 'call',
  function_call: 'call',
  pause_turn: 'pause',
  refusal: 'refusal',
  content_filter: 'filter',
  content_filtered: 'filter',
  guardrail_intervened: 'filter',
  moderation_blocked: 'filter',
  sensitive: 'filter',
  safety: 'filter',
  recitation: 'filter',
  prohibited_content: 'filter',
  error: 'broken',
  network_error: 'broken',
  insufficient_system_resource: 'broken',
  abort: 'broken',
  aborted: 'broken',
  failed: 'broken',
  timeout: 'broken',
  internal_error: 'broken',
  server_error: 'broken',
  malformed_function_call: 'broken',
}
/** Parts of unknown words: an answer that was cut must not look complete. */
const PATTERNS: readonly (readonly [RegExp, Reason])[] = [
  [/filter|safe|block|prohibit|polic|moderat|censor|spii|unsafe/, 'filter'],
  [/refus/, 'refusal'],
  [/length|max_|limit|truncat|window|incomplete/, 'length'],
  [/error|fail|abort|cancel|timeout|timed_out|exception|malformed|unexpected|overload/, 'broken'],
]
const reasonIn = (raw: string): Reason => {
  const word = raw.toLowerCase()
  return lookUp(STOPS, word) ?? PATTERNS.find(([pattern]) => pattern.test(word))?.[1] ?? 'end'
}

export const stopOf = (raw: Json | undefined, hasCalls: boolean): Stop => {
  if (typeof raw !== 'string') return { reason: hasCalls ? 'call' : 'end' }
  const reason = reasonIn(raw)
  // Some upstreams send `stop` after a tool call, and `tool_calls` without one.
  if (reason === 'end' || reason === 'call') return { reason: hasCalls ? 'call' : 'end', raw }
  return { reason, raw }
}
/** Whether a finish reason says that the upstream failed. */
export const isFailure = (raw: Json | undefined): boolean =>
  typeof raw === 'string' && reasonIn(raw) === 'broken'

/** The format has no word for a pause: `length` is the one after which a client continues. */
const REASONS: Readonly<Record<Reason, string>> = {
  end: 'stop',
  sequence: 'stop',
  pause: 'length',
  length: 'length',
  call: 'tool_calls',
  refusal: 'content_filter',
  filter: 'content_filter',
  broken: 'error',
}
export const reasonOf = ({ reason }: Stop): string => REASONS[reason]

/** The explanation of a stop, for an answer without the text of a refusal. */
export const explanationOf = ({ reason, message }: Stop): string | undefined =>
  reason === 'refusal' || reason === 'filter' ? message : undefined
/** The member `refusal` of a message. */
export const refusalIn = (content: readonly Content[], stop: Stop): string | null => {
  const texts = content.flatMap(each => (each.type === 'refusal' ? [each.text] : []))
  return texts.length > 0 ? texts.join('') : (explanationOf(stop) ?? null)
}
