/** Converts between chat messages and turns of the hub. In this format a tool result is a message
 *  of its own, directly after the call. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  argumentsOf,
  type Fields,
  fieldsIn,
  isFields,
  listIn,
  lookUp,
  omitUndefined,
  parseJson,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import { dropCache, readCacheHint } from '../hub/cache-hint.ts'
import { decodeCallId, encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Call, Content, Media, Result, Text } from '../hub/content.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import type { Turn } from '../hub/prompt.ts'
import {
  readContent,
  readPart,
  reportDropped,
  type Writing,
  writeContent,
  writePart,
} from './content.ts'
import {
  isOwnPayload,
  ownThoughts,
  readCallPayload,
  readThoughts,
  thinkingText,
  writeCallPayload,
  writeThoughts,
} from './reasoning.ts'

/** Names of tool calls by id; results of this format do not repeat them. */
type Names = Map<string, string>

export const readMessages = (body: Fields, dropped: DroppedFields): readonly Turn[] => {
  const turns = new TurnList()
  const names: Names = new Map()
  const messages = requireMember(listIn(body, 'messages'), 'messages')
  const unanswered = unansweredFunctions(messages)
  messages.forEach((each, index) => {
    const at = `messages[${index}]`
    const message = requireObject(each, at)
    const read = lookUp(ROLES, String(message.role))
    if (!read) throw fault('MEMBER_VALUE', [`${at}.role`, 'unknown role'], { param: `${at}.role` })
    turns.add(read(message, at, names))
    // Audio of an earlier answer: only its provider knows it by this id.
    if (message.role === 'assistant' && isFields(message.audio)) dropped.add(`${at}.audio`)
    const called = message.role === 'assistant' ? unanswered.get(index) : undefined
    if (called !== undefined) turns.add({ role: 'user', content: [resultOf(called, called, [])] })
  })
  return turns.turns
}
/** Results of parallel calls form one turn. */
class TurnList {
  readonly turns: Turn[] = []
  /** The content of the last turn, if it has nothing but results. */
  #results: Content[] | undefined

  add(turn: Turn): void {
    const hasResults = isResults(turn)
    if (hasResults && this.#results) {
      for (const each of turn.content) this.#results.push(each)
      return
    }
    const content = [...turn.content]
    this.turns.push({ ...turn, content })
    this.#results = hasResults ? content : undefined
  }
}
/** Index of a message -> the function that it calls, if no later message has its result: OpenAI
 *  takes that of `function_call`, and other providers do not. */
const unansweredFunctions = (messages: readonly Json[]): ReadonlyMap<number, string> => {
  const unanswered = new Map<number, string>()
  /** Names of functions whose next message, seen from the current one, is a result. */
  const withResult = new Set<string>()
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    const called = calledFunction(message)
    if (called !== undefined && !withResult.delete(called)) unanswered.set(index, called)
    if (isFields(message) && message.role === 'function' && typeof message.name === 'string')
      withResult.add(message.name)
  }
  return unanswered
}
const calledFunction = (message: Json | undefined): string | undefined => {
  const call = isFields(message) ? message.function_call : undefined
  return isFields(call) && typeof call.name === 'string' ? call.name : undefined
}
const isResults = ({ role, content }: Turn): boolean =>
  role === 'user' && content.length > 0 && content.every(({ type }) => type === 'result')

type Reader = (message: Fields, at: string, names: Names) => Turn
const messageReader =
  (role: 'system' | 'user'): Reader =>
  (message, at) => {
    const name = textIn(message, 'name', `${at}.name`)
    const content = withHint(readContent(message, at), message, at)
    return { role, content, ...(name !== undefined && { name }) }
  }
/** A hint beside the content of a message concerns its last part. */
const withHint = <T extends Content>(
  content: readonly T[],
  message: Fields,
  at: string,
): readonly T[] => {
  const { cache } = readCacheHint(message, at)
  const last = content.at(-1)
  return cache && last ? [...content.slice(0, -1), { ...last, cache }] : content
}
const ROLES: Readonly<Record<string, Reader>> = {
  system: messageReader('system'),
  developer: messageReader('system'),
  user: messageReader('user'),
  assistant: (message, at, names) => readAssistant(message, at, names),
  tool: (message, at, names) => {
    const id = decodeCallId(
      requireMember(textIn(message, 'tool_call_id', `${at}.tool_call_id`), `${at}.tool_call_id`),
    )
    const result = resultOf(id, names.get(id), readContent(message, at))
    return { role: 'user', content: [{ ...result, ...readCacheHint(message, at) }] }
  },
  function: (message, at, names) => {
    const name = requireMember(textIn(message, 'name', `${at}.name`), `${at}.name`)
    const content = readContent(message, at)
    // OpenAI takes a result without its call.
    if (!names.has(name)) return { role: 'user', name, content }
    return { role: 'user', content: [resultOf(name, name, content)] }
  },
}
const resultOf = (
  id: string,
  name: string | undefined,
  content: readonly (Text | Media)[],
): Result => ({
  type: 'result',
  id,
  ...(name !== undefined && { name }),
  content,
})

const readAssistant: Reader = (message, at, names) => {
  const refusal = textIn(message, 'refusal', `${at}.refusal`)
  const calls = (listIn(message, 'tool_calls', `${at}.tool_calls`) ?? []).map((call, index) =>
    readCall(requireObject(call, `${at}.tool_calls[${index}]`), `${at}.tool_calls[${index}]`),
  )
  const functionCall = fieldsIn(message, 'function_call', `${at}.function_call`)
  if (functionCall)
    calls.push(readFunctionCall(functionCall, String(functionCall.name), `${at}.function_call`))
  for (const { id, name } of calls) names.set(id, name)
  const name = textIn(message, 'name', `${at}.name`)
  const parts = withHint(readAssistantContent(message, at), message, at)
  const content: Content[] = [...readThoughts(message), ...parts]
  if (refusal) content.push({ type: 'refusal', text: refusal })
  return { role: 'assistant', content: [...content, ...calls], ...(name !== undefined && { name }) }
}
/** Some models' answers have thoughts among the parts. */
const readAssistantContent = (message: Fields, at: string): readonly Content[] => {
  const parts = listOf(message)
  if (!parts.some(isThinking)) return readContent(message, at)
  return parts.map((value, index) => {
    const part = requireObject(value, `${at}.content[${index}]`)
    return isThinking(part)
      ? { type: 'thought', text: thinkingText(part) }
      : readPart(part, `${at}.content[${index}]`)
  })
}
const listOf = ({ content }: Fields): readonly Json[] => (Array.isArray(content) ? content : [])
const isThinking = (part: Json): boolean => isFields(part) && part.type === 'thinking'

const readCall = (call: Fields, at: string): Call => {
  const id = decodeCallId(requireMember(textIn(call, 'id', `${at}.id`), `${at}.id`))
  const payload = readCallPayload(call)
  const custom = fieldsIn(call, 'custom', `${at}.custom`)
  if (custom)
    return {
      type: 'call',
      id,
      isFreeText: true,
      name: requireMember(textIn(custom, 'name', `${at}.custom.name`), `${at}.custom.name`),
      input: textIn(custom, 'input', `${at}.custom.input`) ?? '',
    }
  const callFunction = requireMember(fieldsIn(call, 'function', `${at}.function`), `${at}.function`)
  return { ...readFunctionCall(callFunction, id, `${at}.function`), ...(payload && { payload }) }
}
const readFunctionCall = (callFunction: Fields, id: string, at: string): Call => ({
  type: 'call',
  id,
  name: requireMember(textIn(callFunction, 'name', `${at}.name`), `${at}.name`),
  input: textIn(callFunction, 'arguments', `${at}.arguments`) || '{}',
})

// ---------------------------------------------------------------- towards an upstream

export const writeMessages = (turns: readonly Turn[], writing: Writing): readonly Fields[] => {
  const messages: Fields[] = []
  // Images that the model generated: this format accepts images in user messages only.
  let images: Fields[] = []
  for (const turn of turns) {
    if (turn.role === 'assistant') {
      messages.push(...writeAssistant(turn, writing))
      for (const each of turn.content)
        if (each.type === 'media') images.push(writePart(each, writing))
    } else {
      messages.push(...writeUserOrSystem(turn, turn.role === 'user' ? images : [], writing))
      if (turn.role === 'user') images = []
    }
  }
  if (images.length > 0) messages.push({ role: 'user', content: writeContent(images) })
  return messages
}

/** Each tool result becomes a message; images from the results follow in one user message. */
const writeUserOrSystem = (
  { role, content, name }: Turn,
  images: readonly Fields[],
  writing: Writing,
): readonly Fields[] => {
  const messages: Fields[] = []
  const media: Fields[] = [...images]
  const ownParts: Fields[] = []
  for (const each of content) {
    if (each.type === 'result') {
      messages.push(writeResult(each, writing))
      for (const part of each.content)
        if (part.type === 'media') media.push(writePart(part, writing))
    } else if (each.type !== 'thought') {
      const part = each.type === 'hostedCall' ? describeHostedCall(each, writing.dropped) : each
      if (part) ownParts.push(writePart(part, writing))
    }
  }
  const parts = [...media, ...ownParts]
  // Omits a turn whose content was all dropped.
  if (parts.length > 0 || content.length === 0)
    messages.push(
      omitUndefined({ role, content: parts.length > 0 ? writeContent(parts) : '', name }),
    )
  return messages
}
const writeResult = (result: Result, { dropped, hint }: Writing): Fields => {
  const { id, content, value, hasFailed } = result
  reportDropped(result, dropped)
  for (const each of content) if (each.type === 'text') reportDropped(each, dropped)
  const texts = content.map(each => (each.type === 'text' ? each.text : `[${each.kind} below]`))
  const text =
    texts.length > 0 ? texts.join('\n') : value === undefined ? '' : JSON.stringify(value)
  const hints = [...content.filter(({ type }) => type === 'text'), result].map(each =>
    hint(each.cache),
  )
  const part = { type: 'text', text: hasFailed ? `Error: ${text}` : text }
  return {
    role: 'tool',
    tool_call_id: encodeCallId(id, PORTABLE_ID),
    content: writeContent([Object.assign(part, ...hints)]),
  }
}

const writeAssistant = (
  { content: allContent, name }: Turn,
  { dropped }: Writing,
): readonly Fields[] => {
  const content = allContent.flatMap(each =>
    each.type === 'hostedCall' ? (describeHostedCall(each, dropped) ?? []) : each,
  )
  for (const each of content) {
    if (each.type !== 'media') reportDropped(each, dropped)
    if ('cache' in each) dropCache(each.cache, dropped)
  }
  const refusals = content.flatMap(each => (each.type === 'refusal' ? [each.text] : []))
  const members: Fields = {
    ...writeTextAndCalls(content, true),
    ...(refusals.length > 0 && { refusal: refusals.join('') }),
    ...writeThoughts(ownThoughts(content)),
  }
  // The provider rejects an empty message: a turn without content is omitted.
  const { content: text, tool_calls: calls, refusal, reasoning_details: details } = members
  if (text === null && !(calls ?? refusal ?? details)) return []
  return [omitUndefined({ role: 'assistant', ...members, name })]
}
/** Text and calls; the text is null if there is none. `ownOnly`: include only payloads of this
 *  format's own providers. */
export const writeTextAndCalls = (content: readonly Content[], ownOnly: boolean): Fields => {
  const texts: string[] = []
  const calls: Json[] = []
  for (const each of content) {
    if (each.type === 'text') texts.push(each.text)
    else if (each.type === 'call') calls.push(writeCall(ownOnly ? withObject(each) : each, ownOnly))
  }
  return {
    content: texts.length > 0 ? texts.join('') : null,
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}
/** Many providers of this format refuse other arguments than a JSON object in the history. */
const withObject = (call: Call): Call => {
  const { input, isFreeText } = call
  if (isFreeText || input === '' || isFields(parseJson(input))) return call
  return { ...call, input: JSON.stringify(argumentsOf(input)) }
}
const writeCall = ({ id, name, input, isFreeText, payload }: Call, ownOnly: boolean): Fields => ({
  id: encodeCallId(id, PORTABLE_ID),
  ...(isFreeText
    ? { type: 'custom', custom: { name, input } }
    : { type: 'function', function: { name, arguments: input || '{}' } }),
  ...writeCallPayload(ownOnly && !isOwnPayload(payload) ? undefined : payload),
})
