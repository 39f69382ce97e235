/** Encodes turns as the items of an upstream's input. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, omitUndefined, parseJson } from '../fields.ts'
import { type CacheWriter, dropCache } from '../hub/cache-hint.ts'
import { encodeCallId } from '../hub/call-id.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type {
  Call,
  Content,
  HostedCall,
  Media,
  OpaquePayload,
  Result,
  Text,
  Thought,
} from '../hub/content.ts'
import { needsSignatures } from '../hub/conversation-rules.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import type { Prompt, Turn } from '../hub/prompt.ts'
import { fillLastTurn } from '../hub/turn-order.ts'
import { writePart } from './content.ts'
import { originalItemOf } from './hosted-tools.ts'
import { CALL_ID, NAME } from './name.ts'
import { searchItemIn } from './tool-search.ts'

/** The `input` of a request. Its last turn has content, which the provider demands. */
export const writeInput: typeof writeItems = (turns, ...others) =>
  writeItems(fillLastTurn(turns), ...others)

/** `signsNothing`: the upstream's thoughts have no payload, and go back as texts. */
export const writeItems = (
  turns: readonly Turn[],
  hint: CacheWriter,
  dropped: DroppedFields,
  signsNothing = false,
): readonly Fields[] => {
  const freeCallIds = new Set<string>()
  return turns.flatMap(turn => {
    if (turn.role === 'assistant')
      return new AssistantItems(freeCallIds, hint, dropped, signsNothing).write(turn.content)
    const results = turn.content.flatMap(content =>
      content.type === 'result'
        ? [searchItemIn(content) ?? writeResult(content, freeCallIds, hint)]
        : [],
    )
    const parts = turn.content.flatMap(content => partOf(content, dropped) ?? [])
    return parts.length > 0 ? [...results, writeMessage(turn.role, parts, hint)] : results
  })
}
/** The content of system and user messages; undefined if it is not part of a message. */
const partOf = (content: Content, dropped: DroppedFields): Text | Media | undefined => {
  if (content.type === 'text' || content.type === 'media') return content
  return content.type === 'hostedCall' ? describeHostedCall(content, dropped) : undefined
}

const writeMessage = (
  role: Turn['role'],
  parts: readonly (Text | Media)[],
  hint: CacheWriter,
): Fields => ({ type: 'message', role, content: writeContent(parts, hint) })
/** A single text without a hint as a string, anything else as parts. */
const writeContent = (parts: readonly (Text | Media)[], hint: CacheWriter): Json => {
  const encoded = parts.flatMap(part => writeParts(part, hint))
  const [only] = encoded
  const isText = encoded.length === 1 && only?.type === 'input_text'
  return isText && Object.keys(only).length === 2 ? (only.text as string) : encoded
}

/** A document's description becomes a text before it. */
const writeParts = (part: Text | Media, hint: CacheWriter): readonly Fields[] => {
  const about = part.type === 'media' ? part.context : undefined
  const description = about === undefined ? [] : [{ type: 'input_text', text: about }]
  return [...description, writePart(part, hint)]
}
/** This format has no flag for a failed tool; the text begins with `Error: `. */
const writeResult = (
  { id, content, value, hasFailed, ...rest }: Result,
  freeCallIds: ReadonlySet<string>,
  hint: CacheWriter,
): Fields => {
  const partsOfResult =
    content.length === 0 && value !== undefined ? [text(JSON.stringify(value))] : content
  const parts = hasFailed ? [text(ERROR_PREFIX), ...partsOfResult] : partsOfResult
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
  const output = parts.flatMap(part => writeParts(part, hint))
  const last = output.at(-1)
  if (last) output[output.length - 1] = { ...last, ...hint(rest.cache) }
  const isPlain =
    texts.length === parts.length &&
    isShort(partsOfResult) &&
    output.every(part => Object.keys(part).length === 2)
  return {
    type:
      rest.isFreeText || freeCallIds.has(id) ? 'custom_tool_call_output' : 'function_call_output',
    call_id: encodeCallId(id, CALL_ID),
    output: isPlain ? texts.join('') : output,
  }
}
const ERROR_PREFIX = 'Error: '
const text = (value: string): Text => ({ type: 'text', text: value })
const isShort = (parts: readonly unknown[]): boolean => parts.length <= 1

/** Reports what no item, part or tool of this format can express. */
export const reportDropped = ({ turns }: Pick<Prompt, 'turns'>, dropped: DroppedFields): void => {
  const contents = turns.flatMap(({ content }) => content)
  if (turns.some(({ name }) => name !== undefined)) dropped.add('name')
  const media = [...contents, ...inResults(contents)].filter(each => each.type === 'media')
  const cites = contents.some(each => each.type === 'text' && each.citations?.length)
  if (cites || media.some(({ citationsEnabled }) => citationsEnabled)) dropped.add('citations')
  // Only a file with inline data has a name.
  const isUntitled = ({ kind, source }: Media): boolean =>
    kind !== 'document' || source.type !== 'data'
  if (media.some(each => each.name !== undefined && isUntitled(each))) dropped.add('filename')
  if (media.some(({ clip }) => clip !== undefined)) dropped.add('videoMetadata')
}
const inResults = (contents: readonly Content[]): readonly Content[] =>
  contents.flatMap(each => (each.type === 'result' ? each.content : []))

/** Encodes an assistant turn item by item. */
class AssistantItems {
  readonly #items: Fields[] = []
  readonly #freeCallIds: Set<string>
  readonly #hint: CacheWriter
  readonly #dropped: DroppedFields
  readonly #signsNothing: boolean
  /** Consecutive texts form one message. */
  #texts: string[] = []
  #phase: string | undefined
  /** Payloads by kind, which an empty thought carried through a client without a field for them.
   *  They belong to the next item. */
  readonly #payloads = new Map<string, string>()

  constructor(
    freeCallIds: Set<string>,
    hint: CacheWriter,
    dropped: DroppedFields,
    signsNothing: boolean,
  ) {
    this.#signsNothing = signsNothing
    this.#freeCallIds = freeCallIds
    this.#hint = hint
    this.#dropped = dropped
  }
  write(contents: readonly Content[]): readonly Fields[] {
    for (const content of contents) this.#add(content)
    this.#flush()
    // The provider rejects thoughts that nothing follows.
    while (this.#items.at(-1)?.type === 'reasoning') this.#items.pop()
    return this.#items
  }
  #add(content: Content): void {
    if ('cache' in content && content.type !== 'media') dropCache(content.cache, this.#dropped)
    if (content.type === 'text') return this.#addText(content)
    if (content.type === 'thought') return this.#addThought(content)
    if (content.type === 'hostedCall') this.#addHostedCall(content)
    else if (content.type === 'call') this.#addItem(this.#callItem(content))
    else if (content.type === 'media') this.#addItem(writeImage(content, this.#hint))
    else if (content.type === 'refusal')
      this.#addItem(refusalMessage(content.text, this.#items.length))
  }
  #addText({ text, payload }: Text): void {
    const phase = this.#payloadOf('phase', payload)
    if (phase !== this.#phase) this.#flush()
    this.#phase = phase
    this.#texts.push(text)
  }
  #addHostedCall(call: HostedCall): void {
    const originalItem = originalItemOf(call)
    const text = originalItem ? undefined : describeHostedCall(call, this.#dropped)?.text
    if (originalItem) this.#addItem(originalItem)
    else if (text !== undefined) this.#addItem(assistantMessage(text))
  }
  #flush(): void {
    const text = this.#texts.join('')
    if (text !== '') this.#items.push(assistantMessage(text, this.#phase))
    this.#texts = []
    this.#phase = undefined
  }
  #addItem(item: Fields): void {
    this.#flush()
    this.#items.push(item)
  }
  /** Omits thoughts of other providers. */
  #addThought({ text, payload }: Thought): void {
    if (!payload && this.#signsNothing) return this.#addItem(unsigned(text, this.#items.length))
    if (payload?.origin !== NAME) return
    if (payload.kind !== undefined) {
      this.#payloads.set(payload.kind, payload.data)
      return
    }
    this.#addItem(
      omitUndefined({
        type: 'reasoning',
        id: payload.id,
        summary: text === '' ? [] : [{ type: 'summary_text', text }],
        encrypted_content: payload.data,
      }),
    )
  }
  #callItem(content: Call): Fields {
    const searchItem = searchItemIn(content)
    if (searchItem) return searchItem
    const { id, name, namespace, input, isFreeText, payload } = content
    const call = omitUndefined({
      call_id: encodeCallId(id, CALL_ID),
      name,
      namespace: namespace ?? this.#payloadOf('namespace', payload),
    })
    if (isFreeText) this.#freeCallIds.add(id)
    if (isFreeText) return { type: 'custom_tool_call', ...call, input }
    return omitUndefined({
      type: 'function_call',
      ...call,
      arguments: input.trim() === '' ? '{}' : input,
    })
  }
  #payloadOf(kind: string, payload: OpaquePayload | undefined): string | undefined {
    const storedPayload = this.#payloads.get(kind)
    this.#payloads.delete(kind)
    return payload?.origin === NAME && payload.kind === kind ? payload.data : storedPayload
  }
}

const unsigned = (text: string, index: number): Fields => ({
  type: 'reasoning',
  id: `rs_${index}`,
  summary: [],
  content: [{ type: 'reasoning_text', text }],
})
const assistantMessage = (content: string, phase?: string): Fields =>
  omitUndefined({ type: 'message', role: 'assistant', content, phase })

/** Returns this provider's own image item unchanged; another provider's image becomes a user
 *  message. */
const writeImage = (media: Media, hint: CacheWriter): Fields => {
  const { payload, source } = media
  const item: Json | undefined =
    payload?.origin === NAME && payload.kind === 'image' ? parseJson(payload.data) : undefined
  if (isFields(item) && source.type === 'data') return { ...item, result: source.data }
  return { type: 'message', role: 'user', content: [writePart(media, hint)] }
}
const refusalMessage = (text: string, index: number): Fields => ({
  type: 'message',
  id: `msg_refused_${index}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'refusal', refusal: text }],
})

/** The input of a client's own request without thoughts that the provider does not store and cannot
 *  read, which the gateway made of another provider's answer. */
export const repairHistory = (
  { input, store }: Fields,
  target: TargetFacts,
): readonly (readonly [key: string, value: Json])[] => {
  if (store !== false || !Array.isArray(input)) return []
  if (!needsSignatures(target) || !input.some(isUnreadable)) return []
  return [['input', input.filter(item => !isUnreadable(item))]]
}
const isUnreadable = (item: Json): boolean =>
  isFields(item) && item.type === 'reasoning' && !item.encrypted_content
