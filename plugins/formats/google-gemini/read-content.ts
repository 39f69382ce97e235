/** Decodes a client's contents and parts to turns. */
import type { Json } from '../../../engine/plugin.ts'
import { original } from '../call-id.ts'
import type { Loss } from '../codec.ts'
import type {
  Call,
  Content,
  Media,
  OpaquePayload,
  Result,
  Text,
  Thought,
  Work,
} from '../content.ts'
import { fault } from '../faults.ts'
import { entryOf, type Fields, isFields } from '../fields.ts'
import type { Turn } from '../hub.ts'
import { unsealed } from '../seal.ts'
import { bad, type Given } from './given.ts'
import { readFile, readInline } from './media.ts'
import { NAME } from './name.ts'
import { unwrapped } from './results.ts'
import { codeOf, WORK_TOOLS } from './work.ts'

const ROLES: Readonly<Record<string, Turn['role']>> = {
  user: 'user',
  model: 'assistant',
  function: 'user',
  system: 'system',
}

/** Reads contents in order, and pairs calls without ids with results that name only their tool. */
export class History {
  readonly turns: Turn[] = []
  readonly #dropped: Loss
  /** Calls without a result so far. */
  #openCalls: Call[] = []
  #calls = 0

  constructor(dropped: Loss) {
    this.#dropped = dropped
  }
  read(content: Given): void {
    const role = entryOf(ROLES, (content.text('role') || 'user').toLowerCase())
    if (!role) throw bad(content.place('role'), "expected 'user' or 'model'")
    const read: Content[] = []
    for (const part of content.objects('parts')) this.#part(part, read)
    content.rest(this.#dropped)
    this.#add({ role, content: read })
  }
  /** Merges a stream that a client stored piece by piece into one turn, and consecutive results
   *  likewise. */
  #add({ role, content }: Turn): void {
    const last = this.turns.at(-1)
    const isMerged = last?.role === role && (role === 'assistant' || content.some(isResult))
    if (isMerged) this.turns.pop()
    const merged = isMerged ? [...last.content, ...content] : content
    const sorted = [...merged.filter(isResult), ...merged.filter(each => !isResult(each))]
    this.turns.push({ role, content: joinEmpty(role === 'assistant' ? merged : sorted) })
  }
  #part(part: Given, read: Content[]): void {
    const signature = part.text('thoughtSignature')
    const payload = signature === undefined ? undefined : unsealed(NAME, signature)
    const key = KINDS.find(each => part.has(each))
    if (key !== undefined) this.#readKind(key, part, payload, read)
    else if (payload) read.push({ type: 'thought', text: '', payload })
    else throw bad(part.at, `expected one of ${KINDS.join(', ')}`)
    part.rest(this.#dropped, 'thought', 'thoughtSignature', 'partMetadata', 'part_metadata')
  }
  #readKind(
    key: (typeof KINDS)[number],
    part: Given,
    payload: OpaquePayload | undefined,
    read: Content[],
  ): void {
    if (key === 'text') return void read.push(textOf(part, payload))
    const object = part.object(key) as Given
    if (key === 'inlineData') read.push(withPayload(readInline(object, part), payload))
    else if (key === 'fileData') read.push(withPayload(readFile(object, part), payload))
    else if (key === 'functionCall') read.push(this.#call(object, payload))
    else if (key === 'functionResponse') read.push(this.#result(object))
    else addWork(read, key, object, withoutForeign(part.fields, payload))
  }
  #call(object: Given, payload: OpaquePayload | undefined): Call {
    const name = object.need('name')
    const args = object.raw('args') ?? {}
    if (!isFields(args)) throw bad(object.place('args'), 'expected an object')
    const number = this.#calls++
    const id = original(object.text('id') || `call_${number}`)
    object.rest(this.#dropped)
    const call: Call = {
      type: 'call',
      id,
      name,
      input: JSON.stringify(args),
      ...(payload && { payload }),
    }
    this.#openCalls.push(call)
    return call
  }
  #result(object: Given): Result {
    const name = object.need('name')
    const givenId = object.text('id')
    const call = givenId
      ? this.#openCalls.find(({ id }) => id === original(givenId))
      : this.#openCalls.find(each => each.name === name)
    if (!givenId && !call) throw fault('CALL_UNKNOWN', [object.at], { param: object.at })
    this.#openCalls = this.#openCalls.filter(each => each !== call)
    const value = object.raw('response') ?? {}
    if (!isFields(value)) throw bad(object.place('response'), 'expected an object')
    const { text, hasFailed } = unwrapped(value)
    const media = object.objects('parts').map(part => this.#media(part))
    object.rest(this.#dropped)
    return {
      type: 'result',
      id: call?.id ?? original(givenId as string),
      name,
      content: [...(text === undefined ? [] : [{ type: 'text' as const, text }]), ...media],
      value,
      ...(hasFailed && { hasFailed }),
    }
  }
  #media(part: Given): Media | Text {
    const inline = part.object('inlineData')
    const file = part.object('fileData')
    if (inline) return readInline(inline, part)
    if (file) return readFile(file, part)
    throw bad(part.at, 'expected inlineData or fileData')
  }
}
const KINDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const

const isResult = ({ type }: Content): boolean => type === 'result'
const withPayload = <T extends Content>(content: T, payload: OpaquePayload | undefined): T =>
  payload ? { ...content, payload } : content

const textOf = (part: Given, payload: OpaquePayload | undefined): Text | Thought => {
  const text = part.text('text') ?? ''
  return withPayload(
    { type: part.flag('thought') ? 'thought' : 'text', text } as Text | Thought,
    payload,
  )
}

/** A signature from the end of a stream, in a part without text, belongs to the preceding text. */
const joinEmpty = (contents: readonly Content[]): readonly Content[] => {
  const result: Content[] = []
  for (const content of contents) {
    const last = result.at(-1)
    const empty = (content.type === 'text' || content.type === 'thought') && content.text === ''
    if (!empty) result.push(content)
    else if (!content.payload) continue
    else if (last?.type === content.type && !last.payload)
      result[result.length - 1] = { ...last, payload: content.payload }
    else result.push({ type: 'thought', text: '', payload: content.payload })
  }
  return result
}

// ---------------------------------------------------------------- hosted calls

type WorkPart = 'executableCode' | 'codeExecutionResult' | 'toolCall' | 'toolResponse'

/** Removes another provider's payload, which must not reach Google even inside Google's own
 *  part. */
const withoutForeign = (part: Fields, payload: OpaquePayload | undefined): Fields => {
  if (!payload || payload.origin === NAME) return part
  const { thoughtSignature: _, thought_signature: __, ...rest } = part
  return rest
}
/** Joins a call part and its result part to one hosted call. */
const addWork = (read: Content[], key: WorkPart, data: Given, raw: Json): void => {
  const id = data.text('id')
  const isResultPart = key === 'codeExecutionResult' || key === 'toolResponse'
  const at = isResultPart ? read.findLastIndex(each => isOpenWork(each, id)) : -1
  const openCall = read[at]
  if (openCall?.type === 'hostedCall' && openCall.raw) {
    const items = [...openCall.raw.items, raw]
    read[at] = { ...openCall, output: outputOf(key, data), raw: { origin: NAME, items } }
    return
  }
  const tool = key.startsWith('tool')
    ? entryOf(WORK_TOOLS, data.text('toolType') ?? '')
    : 'code_execution'
  read.push({
    type: 'hostedCall',
    tool: tool ?? 'other',
    id: id ?? `work_${read.length}`,
    input: isResultPart ? {} : key === 'toolCall' ? (data.raw('args') ?? {}) : codeOf(data.fields),
    ...(isResultPart && { output: outputOf(key, data) }),
    raw: { origin: NAME, items: [raw] },
  })
}
const isOpenWork = (content: Content, id: string | undefined): content is Work =>
  content.type === 'hostedCall' &&
  content.output === undefined &&
  (id === undefined || content.id === id)
const outputOf = (key: WorkPart, data: Given): Json =>
  key === 'toolResponse' ? (data.raw('response') ?? {}) : data.fields
