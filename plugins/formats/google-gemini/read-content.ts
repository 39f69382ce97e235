/** Decodes a client's contents and parts to turns. */
import type { Json } from '../../../engine/plugin.ts'
import { original } from '../call-id.ts'
import type { Loss } from '../codec.ts'
import type { Call, Content, Media, Result, Seal, Text, Thought, Work } from '../content.ts'
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
  #open: Call[] = []
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
    const goes = last?.role === role && (role === 'assistant' || content.some(isResult))
    if (goes) this.turns.pop()
    const all = goes ? [...last.content, ...content] : content
    const sorted = [...all.filter(isResult), ...all.filter(each => !isResult(each))]
    this.turns.push({ role, content: joined(role === 'assistant' ? all : sorted) })
  }
  #part(part: Given, read: Content[]): void {
    const signature = part.text('thoughtSignature')
    const seal = signature === undefined ? undefined : unsealed(NAME, signature)
    const key = KINDS.find(each => part.has(each))
    if (key !== undefined) this.#kind(key, part, seal, read)
    else if (seal) read.push({ type: 'thought', text: '', seal })
    else throw bad(part.at, `expected one of ${KINDS.join(', ')}`)
    part.rest(this.#dropped, 'thought', 'thoughtSignature', 'partMetadata', 'part_metadata')
  }
  #kind(key: (typeof KINDS)[number], part: Given, seal: Seal | undefined, read: Content[]): void {
    if (key === 'text') return void read.push(textOf(part, seal))
    const given = part.object(key) as Given
    if (key === 'inlineData') read.push(sealed(readInline(given, part), seal))
    else if (key === 'fileData') read.push(sealed(readFile(given, part), seal))
    else if (key === 'functionCall') read.push(this.#call(given, seal))
    else if (key === 'functionResponse') read.push(this.#result(given))
    else addWork(read, key, given, withoutForeign(part.fields, seal))
  }
  #call(given: Given, seal: Seal | undefined): Call {
    const name = given.need('name')
    const args = given.raw('args') ?? {}
    if (!isFields(args)) throw bad(given.place('args'), 'expected an object')
    const number = this.#calls++
    const id = original(given.text('id') || `call_${number}`)
    given.rest(this.#dropped)
    const call: Call = {
      type: 'call',
      id,
      name,
      input: JSON.stringify(args),
      ...(seal && { seal }),
    }
    this.#open.push(call)
    return call
  }
  #result(given: Given): Result {
    const name = given.need('name')
    const said = given.text('id')
    const call = said
      ? this.#open.find(({ id }) => id === original(said))
      : this.#open.find(each => each.name === name)
    if (!said && !call) throw fault('CALL_UNKNOWN', [given.at], { param: given.at })
    this.#open = this.#open.filter(each => each !== call)
    const value = given.raw('response') ?? {}
    if (!isFields(value)) throw bad(given.place('response'), 'expected an object')
    const { text, failed } = unwrapped(value)
    const media = given.objects('parts').map(part => this.#media(part))
    given.rest(this.#dropped)
    return {
      type: 'result',
      id: call?.id ?? original(said as string),
      name,
      content: [...(text === undefined ? [] : [{ type: 'text' as const, text }]), ...media],
      value,
      ...(failed && { failed }),
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
const sealed = <T extends Content>(content: T, seal: Seal | undefined): T =>
  seal ? { ...content, seal } : content

const textOf = (part: Given, seal: Seal | undefined): Text | Thought => {
  const text = part.text('text') ?? ''
  return sealed({ type: part.flag('thought') ? 'thought' : 'text', text } as Text | Thought, seal)
}

/** A signature from the end of a stream, in a part without text, belongs to the preceding text. */
const joined = (contents: readonly Content[]): readonly Content[] => {
  const kept: Content[] = []
  for (const content of contents) {
    const last = kept.at(-1)
    const empty = (content.type === 'text' || content.type === 'thought') && content.text === ''
    if (!empty) kept.push(content)
    else if (!content.seal) continue
    else if (last?.type === content.type && !last.seal)
      kept[kept.length - 1] = { ...last, seal: content.seal }
    else kept.push({ type: 'thought', text: '', seal: content.seal })
  }
  return kept
}

// ---------------------------------------------------------------- hosted calls

type WorkPart = 'executableCode' | 'codeExecutionResult' | 'toolCall' | 'toolResponse'

/** Removes another provider's payload, which must not reach Google even inside Google's own
 *  part. */
const withoutForeign = (part: Fields, seal: Seal | undefined): Fields => {
  if (!seal || seal.origin === NAME) return part
  const { thoughtSignature: _, thought_signature: __, ...rest } = part
  return rest
}
/** Joins a call part and its result part to one hosted call. */
const addWork = (read: Content[], key: WorkPart, data: Given, raw: Json): void => {
  const id = data.text('id')
  const answers = key === 'codeExecutionResult' || key === 'toolResponse'
  const at = answers ? read.findLastIndex(each => isOpenWork(each, id)) : -1
  const before = read[at]
  if (before?.type === 'work' && before.raw) {
    const items = [...before.raw.items, raw]
    read[at] = { ...before, output: outputOf(key, data), raw: { origin: NAME, items } }
    return
  }
  const tool = key.startsWith('tool')
    ? entryOf(WORK_TOOLS, data.text('toolType') ?? '')
    : 'code_execution'
  read.push({
    type: 'work',
    tool: tool ?? 'other',
    id: id ?? `work_${read.length}`,
    input: answers ? {} : key === 'toolCall' ? (data.raw('args') ?? {}) : codeOf(data.fields),
    ...(answers && { output: outputOf(key, data) }),
    raw: { origin: NAME, items: [raw] },
  })
}
const isOpenWork = (content: Content, id: string | undefined): content is Work =>
  content.type === 'work' && content.output === undefined && (id === undefined || content.id === id)
const outputOf = (key: WorkPart, data: Given): Json =>
  key === 'toolResponse' ? (data.raw('response') ?? {}) : data.fields
