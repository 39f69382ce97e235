/** Decodes the flat list of a client's input items to turns. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  isFields,
  lenientObjects,
  listIn,
  requireMember,
  requireObject,
  textIn,
} from '../fields.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { Content, OpaquePayload, Result } from '../hub/content.ts'
import { decodePayload } from '../hub/opaque-payload.ts'
import type { Turn } from '../hub/prompt.ts'
import type { MediaPlace } from '../media/media-places.ts'
import { imageOf, thoughtText } from './answer/item.ts'
import { readCompaction } from './compaction-item.ts'
import { placeOf, readContent } from './content.ts'
import { fault as own } from './faults.ts'
import { decodeHostedCall } from './hosted-tools.ts'
import { NAME } from './name.ts'
import { ADDITIONAL, describeFound, isClientSearch, SEARCH, searchPayload } from './tool-search.ts'

type Role = Turn['role']
interface DecodedItem {
  readonly role: Role
  readonly content: readonly Content[]
}
interface OpenTurn extends DecodedItem {
  readonly content: Content[]
}
/** `names`: tool names by the ids of the calls so far. */
type Read = (item: Fields, at: string, names: Map<string, string>) => DecodedItem

/** Merges consecutive items of one side into a turn; consecutive messages stay separate turns.
 *  `path`: the member that contains the items. */
export const readItems = (input: Json | undefined, path = 'input'): readonly Turn[] => {
  if (typeof input === 'string') return [{ role: 'user', content: [{ type: 'text', text: input }] }]
  if (!Array.isArray(input))
    throw fault('MEMBER_TYPE', [path, 'a string or an array'], { param: path })
  const turns: OpenTurn[] = []
  const names = new Map<string, string>()
  let previousType: string | undefined
  input.forEach((value: Json, index) => {
    const at = `${path}[${index}]`
    const item = requireObject(value, at)
    const type = typeOf(item, at)
    const { role, content } = (READERS[type] ?? readHostedCall)(item, at, names)
    const last = turns.at(-1)
    const isSeparate = type === 'message' && previousType === type
    if (last?.role === role && !isSeparate) for (const each of content) last.content.push(each)
    else turns.push({ role, content: [...content] })
    previousType = type
  })
  return turns.map(turn => (turn.role === 'user' ? resultsFirst(turn) : turn))
}
const resultsFirst = (turn: DecodedItem): DecodedItem => {
  const { content } = turn
  if (!content.some(({ type }) => type === 'result')) return turn
  const [results, rest] = [
    content.filter(({ type }) => type === 'result'),
    content.filter(({ type }) => type !== 'result'),
  ]
  return { ...turn, content: [...results, ...rest] }
}
const typeOf = (item: Fields, at: string): string =>
  requireMember(
    textIn(item, 'type', `${at}.type`) ??
      ('role' in item ? 'message' : 'id' in item ? 'item_reference' : undefined),
    `${at}.type`,
  )

// ---------------------------------------------------------------- messages

const ROLES: Readonly<Record<string, Role>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
}
const readMessage: Read = (item, at) => {
  const roleName = requireMember(textIn(item, 'role', `${at}.role`), `${at}.role`)
  const role = ROLES[roleName]
  if (!role)
    throw fault('MEMBER_VALUE', [`${at}.role`, `'${roleName}' is not known`], {
      param: `${at}.role`,
    })
  const path = `${at}.content`
  if (role !== 'assistant') return { role, content: readContent(item.content, path) }
  return { role, content: readAssistant(item, path) }
}
/** An assistant message: its parts may include refusals, and it may name its phase. */
const readAssistant = (item: Fields, at: string): readonly Content[] => {
  const phase = textIn(item, 'phase', at)
  const payload: OpaquePayload | undefined =
    phase === undefined ? undefined : { origin: NAME, kind: 'phase', data: phase }
  const parts = Array.isArray(item.content) ? item.content : [item.content]
  return parts.flatMap((part: Json | undefined, index): readonly Content[] => {
    const path = `${at}[${index}]`
    if (isFields(part) && part.type === 'refusal') {
      const refusal = requireMember(textIn(part, 'refusal', `${path}.refusal`), `${path}.refusal`)
      return [{ type: 'refusal', text: refusal }]
    }
    const content = readContent(isFields(part) ? [part] : part, at)
    return payload ? content.map(content => ({ ...content, payload })) : content
  })
}

// ---------------------------------------------------------------- calls and results

const readCall =
  (member: 'arguments' | 'input'): Read =>
  (item, at, names) => {
    const name = requireMember(textIn(item, 'name', `${at}.name`), `${at}.name`)
    const id = callId(item, at)
    const input = requireMember(textIn(item, member, `${at}.${member}`), `${at}.${member}`)
    const namespace = textIn(item, 'namespace', `${at}.namespace`)
    names.set(id, name)
    return {
      role: 'assistant',
      content: [
        {
          type: 'call',
          id,
          name,
          input: member === 'arguments' && input.trim() === '' ? '{}' : input,
          ...(member === 'input' && { isFreeText: true }),
          ...(namespace !== undefined && { namespace }),
        },
      ],
    }
  }
const readResult =
  (isFreeText: boolean): Read =>
  (item, at, names) => {
    const id = callId(item, at)
    const name = names.get(id)
    const result: Result = {
      type: 'result',
      id,
      content: readContent(item.output, `${at}.output`),
      ...(name !== undefined && { name }),
      ...(isFreeText && { isFreeText }),
    }
    return { role: 'user', content: [result] }
  }
const callId = (item: Fields, at: string): string =>
  decodeCallId(requireMember(textIn(item, 'call_id', `${at}.call_id`), `${at}.call_id`))

// ---------------------------------------------------------------- provider-specific items

const readReasoning: Read = (item, at) => {
  for (const list of ['summary', 'content'])
    listIn(item, list, `${at}.${list}`)?.forEach((part, index) => {
      requireObject(part, `${at}.${list}[${index}]`)
    })
  const ciphertext = textIn(item, 'encrypted_content', `${at}.encrypted_content`)
  const id = textIn(item, 'id', `${at}.id`)
  const text = thoughtText(item)
  if (!ciphertext && text === '') return { role: 'assistant', content: [] }
  return {
    role: 'assistant',
    content: [
      {
        type: 'thought',
        text,
        ...(ciphertext && { payload: decodePayload(NAME, ciphertext, { ...(id && { id }) }) }),
      },
    ],
  }
}
/** The image is content for every model; the rest of the item is a payload for its own provider. */
const readImage: Read = (item, at) => {
  textIn(item, 'result', `${at}.result`)
  const image = imageOf(item)
  if (!image) return readHostedCall(item, at, new Map())
  const { result: _, ...rest } = item
  const payload = { origin: NAME, kind: 'image', data: JSON.stringify(rest) }
  return { role: 'assistant', content: [{ ...image, at, payload }] }
}
const readReference: Read = (item, at) => {
  const id = textIn(item, 'id', `${at}.id`) ?? ''
  throw own('ITEM_UNKNOWN', [id], { param: at })
}
const readHostedCall: Read = item => ({ role: 'assistant', content: [decodeHostedCall(item)] })

const readSummary: Read = (item, at) => {
  const content = readCompaction(item, at)
  return { role: content.type === 'text' ? 'user' : 'assistant', content: [content] }
}

const readSearchCall: Read = (item, at, names) => {
  if (!isClientSearch(item)) return readHostedCall(item, at, names)
  const id = callId(item, at)
  const input = JSON.stringify(item.arguments ?? {})
  names.set(id, SEARCH)
  return {
    role: 'assistant',
    content: [{ type: 'call', id, name: SEARCH, input, payload: searchPayload(item) }],
  }
}
const readSearchResult: Read = (item, at, names) => {
  if (!isClientSearch(item)) return readHostedCall(item, at, names)
  const result: Result = {
    type: 'result',
    id: callId(item, at),
    name: SEARCH,
    content: [{ type: 'text', text: describeFound(item) }],
    payload: searchPayload(item),
  }
  return { role: 'user', content: [result] }
}

const READERS: Readonly<Record<string, Read>> = {
  // Its tools are among those of the request.
  [ADDITIONAL]: () => ({ role: 'assistant', content: [] }),
  tool_search_call: readSearchCall,
  tool_search_output: readSearchResult,
  message: readMessage,
  function_call: readCall('arguments'),
  function_call_output: readResult(false),
  custom_tool_call: readCall('input'),
  custom_tool_call_output: readResult(true),
  reasoning: readReasoning,
  image_generation_call: readImage,
  item_reference: readReference,
  compaction: readSummary,
}

/** Media of messages and of results of tools. */
export const mediaIn = (body: Fields): readonly MediaPlace[] =>
  lenientObjects(body, 'input').flatMap(item => [
    ...lenientObjects(item, 'content').flatMap(part => placeOf(part, item.role === 'user')),
    ...lenientObjects(item, 'output').flatMap(part => placeOf(part, false)),
  ])
