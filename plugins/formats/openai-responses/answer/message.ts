/** Writes a message with its consecutive texts and refusals as stream events. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, lenientObjects } from '../../fields.ts'
import type { Citation, Refusal, Text } from '../../hub/content.ts'
import { annotationOf } from '../citations.ts'
import { itemId } from '../name.ts'
import type { Emit, ItemPosition, Status } from './item-writers.ts'

/** A new text continues the preceding text part. */
export const writeMessage = (
  phase: string | undefined,
  position: ItemPosition,
  emit: Emit,
): Message => {
  const id = itemId('msg', position.id, position.index)
  const item = {
    id,
    type: 'message',
    role: 'assistant',
    ...(phase !== undefined && { phase }),
  }
  const parts: MessagePart[] = []
  return {
    phase,
    item: { ...item, status: 'in_progress', content: [] },
    part: kind => {
      const last = parts.at(-1)
      if (last?.isIdle && last.kind === kind) return last.resume()
      const part = new MessagePart(kind, { item_id: id, content_index: parts.length }, emit)
      parts.push(part)
      return part
    },
    finish: status => ({ ...item, status, content: parts.map(part => part.finish()) }),
  }
}
export interface Message {
  readonly phase: string | undefined
  readonly item: Fields
  part(kind: PartKind): MessagePart
  finish(status: Status): Fields
}
type PartKind = (Text | Refusal)['type']

export class MessagePart {
  readonly kind: PartKind
  /** True while no block writes this part. */
  isIdle = false
  readonly #position: Fields
  readonly #emit: Emit
  readonly #annotations: Fields[] = []
  readonly #logprobs: Json[] = []
  readonly #pendingCitations: Citation[] = []
  #text = ''
  /** The offset at which the current block's text begins. */
  #blockStart = 0

  constructor(kind: PartKind, position: Fields, emit: Emit) {
    this.kind = kind
    this.#position = position
    this.#emit = emit
    emit('response.content_part.added', { ...position, part: this.#wholePart() })
  }
  resume(): this {
    this.isIdle = false
    this.#blockStart = this.#text.length
    return this
  }
  append(delta: string, logprobs?: Json): void {
    this.#text += delta
    if (this.kind === 'refusal')
      return this.#emit('response.refusal.delta', { ...this.#position, delta })
    const list = entriesOf(logprobs)
    this.#logprobs.push(...list)
    this.#emit('response.output_text.delta', { ...this.#position, delta, logprobs: list })
  }
  /** A citation without offsets waits for the end of the text and covers all of it. */
  cite(citation: Citation): void {
    if (citation.end === undefined) this.#pendingCitations.push(citation)
    else this.#annotate(citation)
  }
  /** Ends the current block; another block may continue the part. */
  endBlock(): void {
    for (const citation of this.#pendingCitations.splice(0)) this.#annotate(citation)
    this.isIdle = true
  }
  #annotate(citation: Citation): void {
    const annotation = annotationOf(citation, this.#blockStart, this.#text.length)
    const annotation_index = this.#annotations.push(annotation) - 1
    const members = { ...this.#position, annotation_index, annotation }
    this.#emit('response.output_text.annotation.added', members)
  }
  finish(): Fields {
    this.endBlock()
    const part = this.#wholePart()
    const { text, refusal } = part
    if (this.kind === 'refusal')
      this.#emit('response.refusal.done', { ...this.#position, refusal: refusal ?? '' })
    else {
      const members = { ...this.#position, text: text ?? '', logprobs: this.#logprobs }
      this.#emit('response.output_text.done', members)
    }
    this.#emit('response.content_part.done', { ...this.#position, part })
    return part
  }
  #wholePart(): Fields {
    if (this.kind === 'refusal') return { type: 'refusal', refusal: this.#text }
    return {
      type: 'output_text',
      text: this.#text,
      annotations: [...this.#annotations],
      logprobs: [...this.#logprobs],
    }
  }
}
/** The entries of the hub's log probabilities. */
const entriesOf = (logprobs: Json | undefined): readonly Json[] => {
  const entries = Array.isArray(logprobs) ? logprobs.filter(isFields) : contentOf(logprobs)
  return entries.map(each => ({
    ...withBytes(each),
    top_logprobs: lenientObjects(each, 'top_logprobs').map(withBytes),
  }))
}
const contentOf = (logprobs: Json | undefined): readonly Fields[] =>
  isFields(logprobs) ? lenientObjects(logprobs, 'content') : []
/** Chat completions have null for a token without bytes. */
const withBytes = (entry: Fields): Fields => ({ ...entry, bytes: entry.bytes ?? [] })
