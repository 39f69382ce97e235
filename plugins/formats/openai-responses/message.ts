/** Writes a message with its consecutive texts and refusals as stream events. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, Refused, Text } from '../content.ts'
import { type Fields, isFields, itemsIn } from '../fields.ts'
import { annotationOf } from './citations.ts'
import { itemId } from './name.ts'
import type { Place, Status, Tell } from './writing.ts'

/** A new text continues the preceding text part. */
export const writeMessage = (phase: string | undefined, place: Place, tell: Tell): Message => {
  const id = itemId('msg', place.id, place.index)
  const item = {
    id,
    type: 'message',
    role: 'assistant',
    ...(phase !== undefined && { phase }),
  }
  const parts: Part[] = []
  return {
    phase,
    item: { ...item, status: 'in_progress', content: [] },
    part: kind => {
      const last = parts.at(-1)
      if (last?.free && last.kind === kind) return last.rejoin()
      const part = new Part(kind, { item_id: id, content_index: parts.length }, tell)
      parts.push(part)
      return part
    },
    finish: status => ({ ...item, status, content: parts.map(part => part.finish()) }),
  }
}
export interface Message {
  readonly phase: string | undefined
  readonly item: Fields
  part(kind: Spoken): Part
  finish(status: Status): Fields
}
type Spoken = (Text | Refused)['type']

export class Part {
  readonly kind: Spoken
  /** True while no block writes this part. */
  free = false
  readonly #at: Fields
  readonly #tell: Tell
  readonly #annotations: Fields[] = []
  readonly #logprobs: Json[] = []
  readonly #waiting: Citation[] = []
  #text = ''
  /** The offset at which the current block's text begins. */
  #from = 0

  constructor(kind: Spoken, at: Fields, tell: Tell) {
    this.kind = kind
    this.#at = at
    this.#tell = tell
    tell('response.content_part.added', { ...at, part: this.#whole() })
  }
  rejoin(): this {
    this.free = false
    this.#from = this.#text.length
    return this
  }
  grow(delta: string, logprobs?: Json): void {
    this.#text += delta
    if (this.kind === 'refusal') return this.#tell('response.refusal.delta', { ...this.#at, delta })
    const list = entriesOf(logprobs)
    this.#logprobs.push(...list)
    this.#tell('response.output_text.delta', { ...this.#at, delta, logprobs: list })
  }
  /** A citation without offsets waits for the end of the text and covers all of it. */
  cite(citation: Citation): void {
    if (citation.end === undefined) this.#waiting.push(citation)
    else this.#annotate(citation)
  }
  /** Ends the current block; another block may continue the part. */
  release(): void {
    for (const citation of this.#waiting.splice(0)) this.#annotate(citation)
    this.free = true
  }
  #annotate(citation: Citation): void {
    const annotation = annotationOf(citation, this.#from, this.#text.length)
    const annotation_index = this.#annotations.push(annotation) - 1
    const members = { ...this.#at, annotation_index, annotation }
    this.#tell('response.output_text.annotation.added', members)
  }
  finish(): Fields {
    this.release()
    const part = this.#whole()
    const { text, refusal } = part
    if (this.kind === 'refusal')
      this.#tell('response.refusal.done', { ...this.#at, refusal: refusal ?? '' })
    else {
      const members = { ...this.#at, text: text ?? '', logprobs: this.#logprobs }
      this.#tell('response.output_text.done', members)
    }
    this.#tell('response.content_part.done', { ...this.#at, part })
    return part
  }
  #whole(): Fields {
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
  if (Array.isArray(logprobs)) return logprobs
  return isFields(logprobs) ? itemsIn(logprobs, 'content') : []
}
