/** A message while it is written: texts and refusals that follow one another. */
import type { Json } from '../../../engine/plugin.ts'
import type { Citation, Refused, Text } from '../content.ts'
import { type Fields, isFields, itemsIn } from '../fields.ts'
import { annotationOf } from './citations.ts'
import { itemId } from './name.ts'
import type { Place, Status, Tell } from './writing.ts'

/** A text goes on where the text before it ended. */
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
  /** Nobody is writing it. */
  free = false
  readonly #at: Fields
  readonly #tell: Tell
  readonly #annotations: Fields[] = []
  readonly #logprobs: Json[] = []
  readonly #waiting: Citation[] = []
  #text = ''
  /** Where the text that is written now began. */
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
  /** Without offsets it is of all that is written until the text ends. */
  cite(citation: Citation): void {
    if (citation.end === undefined) this.#waiting.push(citation)
    else this.#annotate(citation)
  }
  /** The text ends here; another may go on behind it. */
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
/** As the hub has them. */
const entriesOf = (logprobs: Json | undefined): readonly Json[] => {
  if (Array.isArray(logprobs)) return logprobs
  return isFields(logprobs) ? itemsIn(logprobs, 'content') : []
}
