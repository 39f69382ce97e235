/** Messages of a chat and turns of the hub. Results of tools are messages of their own here, right behind their calls. */
import type { Json } from '../../../engine/plugin.ts'
import { fitted, NARROW, original } from '../call-id.ts'
import type { Loss } from '../codec.ts'
import type { Call, Content, Media, Result, Text, Thought } from '../content.ts'
import { fault } from '../faults.ts'
import {
  element,
  entryOf,
  type Fields,
  fieldsIn,
  listIn,
  need,
  present,
  textIn,
} from '../fields.ts'
import type { Turn } from '../hub.ts'
import { retold } from '../work.ts'
import { readContent, sayLost, writeContent, writePart } from './content.ts'
import {
  callSeal,
  isOwn,
  ownThoughts,
  readThoughts,
  writeCallSeal,
  writeThoughts,
} from './reasoning.ts'

/** Names of calls by their id: results of this format do not repeat them. */
type Names = Map<string, string>

export const readMessages = (body: Fields): readonly Turn[] => {
  const turns: Turn[] = []
  const names: Names = new Map()
  const messages = need(listIn(body, 'messages'), 'messages')
  messages.forEach((each, index) => {
    const at = `messages[${index}]`
    const message = element(each, at)
    const read = entryOf(ROLES, String(message.role))
    if (!read)
      throw fault('MEMBER_VALUE', [`${at}.role`, 'there is no such role'], { param: `${at}.role` })
    const turn = read(message, at, names)
    const last = turns.at(-1)
    // Results of parallel calls are one turn, as the calls were.
    if (last && isResults(last) && isResults(turn))
      turns[turns.length - 1] = { ...last, content: [...last.content, ...turn.content] }
    else turns.push(turn)
  })
  return turns
}
const isResults = ({ role, content }: Turn): boolean =>
  role === 'user' && content.length > 0 && content.every(({ type }) => type === 'result')

type Reader = (message: Fields, at: string, names: Names) => Turn
const plain =
  (role: 'system' | 'user'): Reader =>
  (message, at) => {
    const name = textIn(message, 'name', `${at}.name`)
    return { role, content: readContent(message, at), ...(name !== undefined && { name }) }
  }
const ROLES: Readonly<Record<string, Reader>> = {
  system: plain('system'),
  developer: plain('system'),
  user: plain('user'),
  assistant: (message, at, names) => readAssistant(message, at, names),
  tool: (message, at, names) => {
    const id = original(
      need(textIn(message, 'tool_call_id', `${at}.tool_call_id`), `${at}.tool_call_id`),
    )
    return { role: 'user', content: [resultOf(id, names.get(id), readContent(message, at))] }
  },
  function: (message, at) => {
    const name = need(textIn(message, 'name', `${at}.name`), `${at}.name`)
    return { role: 'user', content: [resultOf(name, name, readContent(message, at))] }
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
    readCall(element(call, `${at}.tool_calls[${index}]`), `${at}.tool_calls[${index}]`),
  )
  const old = fieldsIn(message, 'function_call', `${at}.function_call`)
  if (old) calls.push(readFunctionCall(old, String(old.name), `${at}.function_call`))
  for (const { id, name } of calls) names.set(id, name)
  const name = textIn(message, 'name', `${at}.name`)
  const content: Content[] = [...readThoughts(message), ...readContent(message, at)]
  if (refusal) content.push({ type: 'refusal', text: refusal })
  return { role: 'assistant', content: [...content, ...calls], ...(name !== undefined && { name }) }
}
const readCall = (call: Fields, at: string): Call => {
  const id = original(need(textIn(call, 'id', `${at}.id`), `${at}.id`))
  const seal = callSeal(call)
  const custom = fieldsIn(call, 'custom', `${at}.custom`)
  if (custom)
    return {
      ...{ type: 'call', id, free: true },
      name: need(textIn(custom, 'name', `${at}.custom.name`), `${at}.custom.name`),
      input: textIn(custom, 'input', `${at}.custom.input`) ?? '',
    }
  const given = need(fieldsIn(call, 'function', `${at}.function`), `${at}.function`)
  return { ...readFunctionCall(given, id, `${at}.function`), ...(seal && { seal }) }
}
const readFunctionCall = (given: Fields, id: string, at: string): Call => ({
  type: 'call',
  id,
  name: need(textIn(given, 'name', `${at}.name`), `${at}.name`),
  input: textIn(given, 'arguments', `${at}.arguments`) || '{}',
})

// ---------------------------------------------------------------- towards an upstream

export const writeMessages = (turns: readonly Turn[], loss: Loss): readonly Fields[] => {
  const messages: Fields[] = []
  // What the model drew: only the user can show it here.
  let drawn: Fields[] = []
  for (const turn of turns) {
    if (turn.role === 'assistant') {
      messages.push(...writeAssistant(turn, loss))
      for (const each of turn.content) if (each.type === 'media') drawn.push(writePart(each, loss))
    } else {
      messages.push(...writeOthers(turn, turn.role === 'user' ? drawn : [], loss))
      if (turn.role === 'user') drawn = []
    }
  }
  if (drawn.length > 0) messages.push({ role: 'user', content: writeContent(drawn) })
  return messages
}

/** Results first, each by itself; what they show beside text, in one message of the user behind them all. */
const writeOthers = (
  { role, content, name }: Turn,
  before: readonly Fields[],
  loss: Loss,
): readonly Fields[] => {
  const messages: Fields[] = []
  const shown: Fields[] = [...before]
  const said: Fields[] = []
  for (const each of content) {
    if (each.type === 'result') {
      messages.push(writeResult(each, loss))
      for (const media of each.content)
        if (media.type === 'media') shown.push(writePart(media, loss))
    } else if (each.type !== 'thought') {
      const part = each.type === 'work' ? retold(each, loss) : each
      if (part) said.push(writePart(part, loss))
    }
  }
  const parts = [...shown, ...said]
  // A turn of which nothing could be told is not there.
  if (parts.length > 0 || content.length === 0)
    messages.push(present({ role, content: parts.length > 0 ? writeContent(parts) : '', name }))
  return messages
}
const writeResult = (result: Result, loss: Loss): Fields => {
  const { id, content, value, failed } = result
  sayLost(result, loss)
  for (const each of content) if (each.type === 'text') sayLost(each, loss)
  const texts = content.map(each => (each.type === 'text' ? each.text : `[${each.kind} below]`))
  const text =
    texts.length > 0 ? texts.join('\n') : value === undefined ? '' : JSON.stringify(value)
  return {
    role: 'tool',
    tool_call_id: fitted(id, NARROW),
    content: failed ? `Error: ${text}` : text,
  }
}

const writeAssistant = ({ content: given, name }: Turn, loss: Loss): readonly Fields[] => {
  const content = given.flatMap(each => (each.type === 'work' ? (retold(each, loss) ?? []) : each))
  for (const each of content) if (each.type !== 'media') sayLost(each, loss)
  const thoughts = content.filter((each): each is Thought => each.type === 'thought')
  const refusals = content.flatMap(each => (each.type === 'refusal' ? [each.text] : []))
  const said: Fields = {
    ...writeSaid(content, true),
    ...(refusals.length > 0 && { refusal: refusals.join('') }),
    ...writeThoughts(ownThoughts(thoughts)),
  }
  // A message that says nothing is refused: of a turn of which nothing could be told none is left.
  if (given.length > 0 && said.content === null && Object.keys(said).length === 1) return []
  return [present({ role: 'assistant', ...said, name })]
}
/** Text and calls. Text may be absent where there are calls. `ours`: only what this format's own providers sealed. */
export const writeSaid = (content: readonly Content[], ours: boolean): Fields => {
  const texts: string[] = []
  const calls: Json[] = []
  for (const each of content) {
    if (each.type === 'text') texts.push(each.text)
    else if (each.type === 'call') calls.push(writeCall(each, ours))
  }
  return {
    content: texts.length > 0 ? texts.join('') : null,
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}
const writeCall = ({ id, name, input, free, seal }: Call, ours: boolean): Fields => ({
  id: fitted(id, NARROW),
  ...(free
    ? { type: 'custom', custom: { name, input } }
    : { type: 'function', function: { name, arguments: input || '{}' } }),
  ...writeCallSeal(ours && !isOwn(seal) ? undefined : seal),
})
