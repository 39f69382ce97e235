/** Decodes a client's contents and parts to turns. */
import { fault } from '../faults.ts'
import { type Fields, isFields, lenientObjects, lookUp } from '../fields.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import { unwrapResponse } from '../google/results.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Call, Content, Media, OpaquePayload, Result, Text, Thought } from '../hub/content.ts'
import { decodePayload } from '../hub/opaque-payload.ts'
import type { Turn } from '../hub/prompt.ts'
import type { MediaPlace } from '../media/media-places.ts'
import { contentOfCall } from './answer/call-signatures.ts'
import { member, placeOf, readFile, readInline } from './content.ts'
import { HostedCalls } from './decode-hosted-calls.ts'
import { NAME } from './name.ts'
import { OpenCalls } from './open-calls.ts'

const ROLES: Readonly<Record<string, Turn['role']>> = {
  user: 'user',
  model: 'assistant',
  function: 'user',
  system: 'system',
}

/** Reads contents in order, and pairs calls without ids with results that name only their tool. */
export class TurnsReader {
  readonly #turns: OpenTurn[] = []
  readonly #dropped: DroppedFields
  readonly #openCalls = new OpenCalls()
  #calls = 0

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped
  }
  /** Results are before other content of a user's turn. */
  get turns(): readonly Turn[] {
    return this.#turns.map(({ role, results, rest }) => ({
      role,
      content: [...results, ...rest.list],
    }))
  }
  read(content: RequestObject): void {
    const role = lookUp(ROLES, (content.text('role') || 'user').toLowerCase())
    if (!role) throw valueFault(content.pathOf('role'), "expected 'user' or 'model'")
    const contents: Content[] = []
    const hosted = new HostedCalls(contents)
    for (const part of content.objects('parts')) this.#readPart(part, contents, hosted)
    content.reportUnread(this.#dropped)
    this.#add({ role, content: contents })
  }
  /** Merges a stream that a client stored piece by piece into one turn, and consecutive results
   *  likewise. */
  #add({ role, content }: Turn): void {
    const last = this.#turns.at(-1)
    const isMerged = last?.role === role && (role === 'assistant' || content.some(isResult))
    const turn = isMerged ? last : { role, results: [], rest: new JoinedPieces() }
    if (!isMerged) this.#turns.push(turn)
    for (const each of content)
      if (role !== 'assistant' && each.type === 'result') turn.results.push(each)
      else turn.rest.add(each)
  }
  #readPart(part: RequestObject, contents: Content[], hosted: HostedCalls): void {
    const signature = part.text('thoughtSignature')
    const payload = signature === undefined ? undefined : decodePayload(NAME, signature)
    const keys = KINDS.filter(each => part.has(each) && (each !== 'text' || part.text(each) !== ''))
    // Google's types allow one kind of data. The signature of a text with a call is the call's.
    const last = keys.at(-1) ?? (part.has('text') ? 'text' : undefined)
    const target = { contents, hosted }
    for (const key of keys.slice(0, -1)) this.#readKind(key, part, undefined, target)
    if (last !== undefined) this.#readKind(last, part, payload, target)
    else if (payload) contents.push({ type: 'thought', text: '', payload })
    else throw valueFault(part.path, `expected one of ${KINDS.join(', ')}`)
    part.reportUnread(this.#dropped, 'thought', 'thoughtSignature', 'partMetadata', 'part_metadata')
  }
  #readKind(
    key: (typeof KINDS)[number],
    part: RequestObject,
    payload: OpaquePayload | undefined,
    { contents, hosted }: { readonly contents: Content[]; readonly hosted: HostedCalls },
  ): void {
    if (key === 'text') return void contents.push(readText(part, payload))
    const object = part.object(key) as RequestObject
    if (key === 'inlineData') contents.push(withPayload(readInline(object, part), payload))
    else if (key === 'fileData') contents.push(withPayload(readFile(object, part), payload))
    else if (key === 'functionCall')
      contents.push(...contentOfCall(this.#readCall(object, payload)))
    else if (key === 'functionResponse') contents.push(this.#readResult(object))
    else {
      // A text beside it has been read as one of its own.
      const { text: _, ...own } = part.fields
      hosted.add(key, object, withoutForeign(own, payload))
    }
  }
  #readCall(object: RequestObject, payload: OpaquePayload | undefined): Call {
    const name = object.requiredText('name')
    const args = object.value('args') ?? {}
    if (!isFields(args)) throw valueFault(object.pathOf('args'), 'expected an object')
    const number = this.#calls++
    const clientId = object.text('id')
    const id = decodeCallId(clientId || `call_${number}`)
    object.reportUnread(this.#dropped)
    const call: Call = {
      type: 'call',
      id,
      name,
      input: JSON.stringify(args),
      ...(payload && { payload }),
    }
    this.#openCalls.add(call, !clientId)
    return call
  }
  #readResult(object: RequestObject): Result {
    const name = object.requiredText('name')
    const clientId = object.text('id')
    const call = clientId
      ? (this.#openCalls.take('id', decodeCallId(clientId)) ??
        this.#openCalls.take('nameWithoutId', name))
      : this.#openCalls.take('name', name)
    if (!clientId && !call) throw fault('CALL_UNKNOWN', [object.path], { param: object.path })
    const value = object.value('response') ?? {}
    if (!isFields(value)) throw valueFault(object.pathOf('response'), 'expected an object')
    const { text, hasFailed } = unwrapResponse(value)
    const media = object.objects('parts').map(part => this.#readMedia(part))
    object.reportUnread(this.#dropped)
    return {
      type: 'result',
      id: call?.id ?? decodeCallId(clientId as string),
      name,
      content: [...(text === undefined ? [] : [{ type: 'text' as const, text }]), ...media],
      value,
      ...(hasFailed && { hasFailed }),
    }
  }
  #readMedia(part: RequestObject): Media | Text {
    const inline = part.object('inlineData')
    const file = part.object('fileData')
    if (inline) return readInline(inline, part)
    if (file) return readFile(file, part)
    throw valueFault(part.path, 'expected inlineData or fileData')
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

const readText = (part: RequestObject, payload: OpaquePayload | undefined): Text | Thought => {
  const text = part.text('text') ?? ''
  return withPayload(
    { type: part.flag('thought') ? 'thought' : 'text', text } as Text | Thought,
    payload,
  )
}

/** A turn to which further contents may be added. */
interface OpenTurn {
  readonly role: Turn['role']
  readonly results: Result[]
  readonly rest: JoinedPieces
}
/** Joins the pieces of a thought, whose signature is that of the whole. A signature from the end of
 *  a stream, in a part without text, belongs to the preceding text. */
class JoinedPieces {
  readonly list: Content[] = []
  /** Of the thoughts so far. */
  readonly #signatures = new Set<string>()

  add(content: Content): void {
    if (this.#isRepeatedThought(content)) return
    const last = this.list.at(-1)
    if (content.type === 'thought' && last?.type === 'thought' && !last.payload)
      this.#replaceLast({ ...content, text: last.text + content.text })
    else if ((content.type !== 'text' && content.type !== 'thought') || content.text !== '')
      this.#push(content)
    else if (!content.payload) return
    else if (last?.type === content.type && !last.payload)
      this.#replaceLast({ ...last, payload: content.payload })
    else this.#push({ type: 'thought', text: '', payload: content.payload })
  }
  /** A thought that a client sent back itself comes with the signature of its call, too. */
  #isRepeatedThought(content: Content): boolean {
    return (
      content.type === 'thought' &&
      content.payload !== undefined &&
      this.#signatures.has(content.payload.data)
    )
  }
  #replaceLast(content: Content): void {
    this.list.pop()
    this.#push(content)
  }
  #push(content: Content): void {
    this.list.push(content)
    if (content.type === 'thought' && content.payload) this.#signatures.add(content.payload.data)
  }
}

/** Removes another provider's payload, which must not reach Google even inside Google's own
 *  part. */
const withoutForeign = (part: Fields, payload: OpaquePayload | undefined): Fields => {
  if (!payload || payload.origin === NAME) return part
  const { thoughtSignature: _, thought_signature: __, ...rest } = part
  return rest
}

/** Media of contents, also in results of functions. */
export const mediaIn = (body: Fields): readonly MediaPlace[] =>
  lenientObjects(body, 'contents').flatMap(content =>
    lenientObjects(content, 'parts').flatMap(part => [
      ...placeOf(part, content.role !== 'model'),
      ...lenientObjects(member(part, 'functionResponse'), 'parts').flatMap(each =>
        placeOf(each, false),
      ),
    ]),
  )
