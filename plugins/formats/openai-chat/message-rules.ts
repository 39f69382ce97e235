/** Brings messages into the form that the rules of a target demand: ids, order and thoughts. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'
import { fixedLengthId } from '../hub/call-id.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import { reasoningRule } from '../hub/conversation-rules.ts'

type Messages = readonly Json[]

export const applyRules = (
  messages: Messages,
  target: TargetFacts,
  dropped?: DroppedFields,
): Messages => {
  const { traits } = target
  const reasoning = reasoningRule(target)
  let result = traits.developer === false ? edit(messages, withoutDeveloper) : messages
  if (reasoning === 'refused') result = edit(result, withoutThoughts)
  if (reasoning === 'required') result = edit(result, withThoughts)
  if (traits.answer_members === false) result = edit(result, withoutAnswerMembers)
  const length = traits.call_ids
  if (typeof length === 'number') result = edit(result, message => withIds(message, length))
  if (traits.user_after_results === false) result = withoutMessagesAfterResults(result)
  if (traits.prefill === false && isPrefill(result.at(-1))) {
    dropped?.add('prefill')
    result = [...result, { role: 'user', content: 'Continue.' }]
  }
  return result
}

/** The same list if no message changes. */
const edit = (messages: Messages, change: (message: Fields) => Fields): Messages => {
  const changed = messages.map(each => (isFields(each) ? change(each) : each))
  return changed.every((each, index) => each === messages[index]) ? messages : changed
}
const withoutDeveloper = (message: Fields): Fields =>
  message.role === 'developer' ? { ...message, role: 'system' } : message
/** Members that clients copy from an answer into the history. */
const ANSWER_MEMBERS = ['refusal', 'annotations', 'cache_control', 'audio', 'function_call']
const withoutAnswerMembers = (message: Fields): Fields => {
  const isExtra = (key: string): boolean =>
    ANSWER_MEMBERS.includes(key) &&
    // A call and a sound of the history have no other place.
    (message[key] === null || !['audio', 'function_call'].includes(key))
  const content = withoutHints(message.content ?? null)
  if (content === (message.content ?? null) && !Object.keys(message).some(isExtra)) return message
  const { refusal } = message
  const members = Object.entries(message).filter(([key]) => !isExtra(key))
  const isRefusal = typeof refusal === 'string' && !message.content
  return { ...Object.fromEntries(members), content: isRefusal ? refusal : content }
}
const withoutHints = (content: Json): Json => {
  if (!Array.isArray(content)) return content
  if (!content.some(part => isFields(part) && 'cache_control' in part)) return content
  return content.map(part => {
    if (!isFields(part)) return part
    const { cache_control: _, ...others } = part
    return others
  })
}
const THOUGHTS = ['reasoning_content', 'reasoning', 'reasoning_details']
const withoutThoughts = (message: Fields): Fields => {
  if (message.role !== 'assistant' || !THOUGHTS.some(key => key in message)) return message
  return Object.fromEntries(Object.entries(message).filter(([key]) => !THOUGHTS.includes(key)))
}
/** Providers that demand thoughts take a space if the conversation has none, but no empty text. */
const withThoughts = (message: Fields): Fields =>
  message.role !== 'assistant' || THOUGHTS.some(key => message[key])
    ? message
    : { ...message, reasoning_content: ' ' }

const withIds = (message: Fields, length: number): Fields => {
  const { tool_calls: calls, tool_call_id: id } = message
  const convert = (value: Json | undefined): Json =>
    typeof value === 'string' ? fixedLengthId(value, length) : (value ?? null)
  if (Array.isArray(calls) && calls.some(call => isFields(call) && convert(call.id) !== call.id))
    return {
      ...message,
      tool_calls: calls.map(call => (isFields(call) ? { ...call, id: convert(call.id) } : call)),
    }
  return typeof id === 'string' && convert(id) !== id
    ? { ...message, tool_call_id: convert(id) }
    : message
}

const roleOf = (message: Json | undefined): Json | undefined =>
  isFields(message) ? message.role : undefined
const withoutMessagesAfterResults = (messages: Messages): Messages => {
  const mustAdd = (index: number): boolean =>
    roleOf(messages[index - 1]) === 'tool' &&
    !['tool', 'assistant'].includes(String(roleOf(messages[index])))
  if (!messages.some((_, index) => mustAdd(index))) return messages
  return messages.flatMap((message, index) =>
    mustAdd(index) ? [{ role: 'assistant', content: 'Done.' }, message] : [message],
  )
}
/** Mistral's `prefix` marks a start of the answer that it takes. */
const isPrefill = (message: Json | undefined): boolean =>
  isFields(message) &&
  message.role === 'assistant' &&
  !message.prefix &&
  !(Array.isArray(message.tool_calls) && message.tool_calls.length > 0)

/** The messages of a client's own request to a target of the same format, if rules change them. */
export const repairHistory = (
  { messages }: Fields,
  target: TargetFacts,
): readonly (readonly [key: string, value: Json])[] => {
  if (!Array.isArray(messages)) return []
  const { traits } = target
  const reasoning = reasoningRule(target)
  const mayChange =
    reasoning === 'required' ||
    RULES.some(rule => traits[rule] !== undefined) ||
    (traits.developer === false && messages.some(isDeveloper)) ||
    (reasoning === 'refused' && messages.some(hasReasoning))
  if (!mayChange) return []
  const repaired = applyRules(messages, target)
  return repaired === messages ? [] : [['messages', repaired as Json]]
}
const isDeveloper = (message: Json): boolean => isFields(message) && message.role === 'developer'
const hasReasoning = (message: Json): boolean => isFields(message) && 'reasoning_content' in message
const RULES = ['call_ids', 'user_after_results', 'prefill', 'reasoning', 'answer_members']
