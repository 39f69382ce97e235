/** Chat completions that OpenAI, Mistral or DeepSeek refuses although they fit the types. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import { longIds, OPENAI_RULES } from './openai.ts'
import { duplicates, has, isEmptyList, type Rule, type Rules, when } from './rule.ts'

const messagesOf = (body: LooseObject): readonly LooseObject[] => asList(body.messages)
const callIds = (message: LooseObject | undefined): readonly string[] =>
  asList(message?.tool_calls).map(({ id }) => asString(id))

/** "An assistant message with 'tool_calls' must be followed by tool messages responding to each
 *  'tool_call_id'", "messages with role 'tool' must be a response to a preceeding message with
 *  'tool_calls'". */
const order: Rule = ({ body }) => {
  const problems: string[] = []
  let open: string[] = []
  messagesOf(body).forEach((message, index) => {
    if (message.role === 'tool') {
      const id = asString(message.tool_call_id)
      if (!open.includes(id)) problems.push(`messages/${index}: a result of no open call (${id})`)
      open = open.filter(each => each !== id)
      return
    }
    if (open.length > 0) problems.push(`messages/${index}: ${open} have no result before it`)
    open = [...callIds(message)]
    for (const id of duplicates(open)) problems.push(`messages/${index}: two calls are ${id}`)
  })
  if (open.length > 0) problems.push(`messages: ${open} have no result at the end`)
  return problems
}
const ids: Rule = ({ body }) =>
  longIds(
    messagesOf(body).flatMap(each => [
      ...callIds(each),
      ...(each.role === 'tool' ? [asString(each.tool_call_id)] : []),
    ]),
  )
/** "Invalid value for 'content': expected a string, got null", "[] is too short - 'messages'". */
const contents: Rule = ({ body }) => [
  ...when(messagesOf(body).length === 0, 'messages: none'),
  ...messagesOf(body).flatMap((each, index) => {
    const isEmpty = !has(each, 'content') || isEmptyList(each.content)
    const says =
      asList(each.tool_calls).length > 0 ||
      has(each, 'refusal') ||
      has(each, 'audio') ||
      has(each, 'function_call')
    return [
      ...when(isEmpty && !(each.role === 'assistant' && says), `messages/${index}: no content`),
      ...when(isEmptyList(each.tool_calls), `messages/${index}: tool_calls is empty`),
    ]
  }),
]
/** API reference: a tool message has text parts only; a system message too; an assistant's has text
 *  and refusals. */
const TEXT_ROLES: Readonly<Record<string, readonly string[]>> = {
  tool: ['text'],
  system: ['text'],
  developer: ['text'],
  assistant: ['text', 'refusal'],
}
const partTypes: Rule = ({ body }) =>
  messagesOf(body).flatMap(({ role, content }, index) =>
    asList(content)
      .filter(({ type }) => !(TEXT_ROLES[asString(role)] ?? [type]).includes(asString(type)))
      .map(({ type }) => `messages/${index}: ${type} in a message of ${role}`),
  )
/** API reference, `stop`: up to 4 sequences. */
const stops: Rule = ({ body }) => when(asList(body.stop).length > 4, 'stop: more than 4')
/** "audio output requires audio in modalities" and the other way round; "modalities" has text and
 *  audio only. */
const modalities: Rule = ({ body }) => {
  const list = asList(body.modalities) as readonly unknown[]
  const audio = asObject(body.audio)
  return [
    ...when(
      list.some(each => each !== 'text' && each !== 'audio'),
      `modalities: ${list}`,
    ),
    ...when(has(body, 'audio') !== list.includes('audio'), 'audio and modalities do not match'),
    ...when(
      has(body, 'audio') && (!has(audio, 'format') || !has(audio, 'voice')),
      'audio without format or voice',
    ),
  ]
}
/** "Invalid 'top_logprobs': logprobs must be set to true". */
const logprobs: Rule = ({ body }) =>
  when(has(body, 'top_logprobs') && body.logprobs !== true, 'top_logprobs without logprobs')
/** Arguments are a text of JSON: Mistral, DeepSeek and vLLM parse it. */
const callArguments: Rule = ({ body }) =>
  messagesOf(body).flatMap(({ tool_calls: calls }, index) =>
    asList(calls)
      .filter(({ type }) => type === 'function')
      .map(each => asObject(each.function).arguments)
      .filter(text => !isObjectText(text))
      .map(text => `messages/${index}: the arguments ${text}`),
  )
const isObjectText = (text: unknown): boolean => {
  try {
    const value = JSON.parse(asString(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** Mistral: "Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9" (3280), "Expected
 *  last role User or Tool (or Assistant with prefix True) for serving but got assistant" (3230),
 *  "Unexpected role 'user' after role 'tool'" (3230). */
const mistral: Rule = ({ body, family }) => {
  if (family.provider !== 'mistral') return []
  const messages = messagesOf(body)
  const last = messages.at(-1)
  const results = messages.flatMap(each =>
    each.role === 'tool' ? [asString(each.tool_call_id)] : [],
  )
  const all = [...messages.flatMap(callIds), ...results]
  return [
    ...all.filter(id => !/^[a-zA-Z0-9]{9}$/.test(id)).map(id => `the call id "${id}"`),
    ...when(
      last?.role === 'assistant' && last.prefix !== true,
      'messages: the last is of assistant',
    ),
    ...messages.flatMap(({ role }, index) =>
      when(
        role === 'user' && messages[index - 1]?.role === 'tool',
        `messages/${index}: user after tool`,
      ),
    ),
  ]
}
/** DeepSeek: "The reasoning_content in the thinking mode must be passed back to the API" of the
 *  assistant's turns with calls after the last user turn. */
const reasoningBack: Rule = ({ body, family }) => {
  if (family.provider !== 'deepseek') return []
  const messages = messagesOf(body)
  const from = messages.findLastIndex(({ role }) => role === 'user')
  const since = messages.slice(from + 1)
  const without = since.filter(each => callIds(each).length > 0 && !has(each, 'reasoning_content'))
  return when(without.length > 0, 'a turn with calls without reasoning_content')
}

export const CHAT_RULES: Rules = {
  ...OPENAI_RULES,
  order,
  ids,
  contents,
  'part-types': partTypes,
  stops,
  modalities,
  logprobs,
  'call-arguments': callArguments,
  mistral,
  'reasoning-back': reasoningBack,
}
