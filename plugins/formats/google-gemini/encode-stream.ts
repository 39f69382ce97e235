/** Encodes a stream for a client: each event is an answer with the new content, the last one has
 *  the finish reason and usage. With `alt=sse` they are events, otherwise the elements of one JSON
 *  array. */
import type { Meters } from '../../slots.ts'
import { fault } from '../faults.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import type { Part, Stop } from '../hub/answer.ts'
import { BlockSequence } from '../hub/block-sequence.ts'
import type { EncodeContext, StreamEncoder } from '../hub/codec.ts'
import type { Content, OpaquePayload, Thought } from '../hub/content.ts'
import { payloadOfThoughts } from './answer/call-signatures.ts'
import { Grounding } from './answer/encode-grounding.ts'
import { partsOf, signatureMember, thoughtMember } from './answer/encode-parts.ts'
import { writeLogprobs } from './answer/logprobs.ts'
import { timeOf } from './response.ts'
import { blockReason, finishReason } from './stops.ts'
import { countsOf } from './usage.ts'

export const encodeStream = (context: EncodeContext): StreamEncoder => {
  const query = context.path.split('?')[1] ?? ''
  const framing = new URLSearchParams(query).get('alt') === 'sse' ? new Events() : new Elements()
  const writer = new StreamWriter(context, framing)
  return {
    ...(framing.type !== undefined && { type: framing.type }),
    push: part => writer.add(part),
    failure: body => framing.piece(body) + framing.end,
  }
}

interface Framing {
  readonly type: string | undefined
  readonly end: string
  piece(body: Fields): string
}
class Events implements Framing {
  readonly type = undefined
  readonly end = ''
  piece(body: Fields): string {
    return `data: ${JSON.stringify(body)}\r\n\r\n`
  }
}
class Elements implements Framing {
  readonly type = 'application/json'
  readonly end = ']'
  #isFirst = true
  piece(body: Fields): string {
    const separator = this.#isFirst ? '[' : ',\r\n'
    this.#isFirst = false
    return separator + JSON.stringify(body)
  }
}

class StreamWriter {
  readonly #framing: Framing
  readonly #candidates = new Map<number, Candidate>()
  /** Block index -> candidate. */
  readonly #choices = new Map<number, Candidate>()
  #facts: Fields
  #meters: Meters | undefined
  #out = ''

  constructor({ model, id }: EncodeContext, framing: Framing) {
    this.#framing = framing
    this.#facts = { modelVersion: model, responseId: id }
  }
  add(part: Part): string {
    this.#out = ''
    if (part.type === 'begin') this.#begin(part)
    else if (part.type === 'count') this.#meters = part.meters
    else if (part.type === 'end') this.#end()
    else this.#addToCandidate(part)
    return this.#out
  }
  #begin({ id, created, meters }: Extract<Part, { readonly type: 'begin' }>): void {
    if (id !== undefined) this.#facts = { ...this.#facts, responseId: id }
    if (created !== undefined) this.#facts = { ...this.#facts, createTime: timeOf(created) }
    this.#meters = meters ?? this.#meters
  }
  #addToCandidate(part: Exclude<Part, { readonly type: 'begin' | 'count' | 'end' }>): void {
    const candidate =
      'choice' in part ? this.#candidateFor(part.choice) : this.#choices.get(part.index)
    if (!candidate) return
    if (part.type === 'open') this.#choices.set(part.index, candidate)
    if (part.type === 'close') this.#choices.delete(part.index)
    if (!candidate.add(part)) throw fault('ANSWER_TANGLED')
  }
  #candidateFor(choice: number): Candidate {
    const existing = this.#candidates.get(choice)
    if (existing) return existing
    const candidate = new Candidate((parts, extraFields) => {
      const content = { parts, role: 'model' }
      const candidates = [{ content, index: choice, ...extraFields }]
      this.#out += this.#framing.piece({ candidates, ...this.#facts })
    })
    this.#candidates.set(choice, candidate)
    return candidate
  }
  #end(): void {
    const candidates = [...this.#candidates]
    const [first] = candidates
    const blockFeedback = candidates.length === 1 ? first?.[1].blockFeedback : undefined
    const last = omitUndefined({
      ...(blockFeedback
        ? { promptFeedback: blockFeedback }
        : { candidates: candidates.map(([index, each]) => ({ ...each.lastFields, index })) }),
      usageMetadata: this.#meters ? countsOf(this.#meters) : undefined,
      ...this.#facts,
    })
    this.#out += this.#framing.piece(last) + this.#framing.end
  }
}

type Emit = (parts: readonly Fields[], extraFields?: Fields) => void

/** One candidate: its blocks in sequence, each call in one piece. */
class Candidate {
  readonly #emit: Emit
  readonly #grounding = new Grounding()
  readonly #sequence = new BlockSequence(part => this.#write(part))
  #content: Content | undefined
  #payload: OpaquePayload | undefined
  /** The text that the open block has emitted. */
  #text = ''
  /** Thoughts since the last call. */
  #thoughts: Thought[] = []
  #stop: Stop | undefined
  #isEmpty = true

  constructor(emit: Emit) {
    this.#emit = emit
  }
  add(part: Part): boolean {
    return this.#sequence.add(part)
  }
  /** The candidate in the last event. */
  get lastFields(): Fields {
    const stop = this.#stop ?? { reason: 'end' }
    return omitUndefined({
      content: { parts: [{ text: '' }], role: 'model' },
      finishReason: finishReason(stop),
      finishMessage: stop.message,
      ...this.#grounding.metadata,
    })
  }
  get blockFeedback(): Fields | undefined {
    const stop = this.#stop
    if (!this.#isEmpty || stop?.reason !== 'filter') return undefined
    return omitUndefined({ blockReason: blockReason(stop), blockReasonMessage: stop.message })
  }
  #write(part: Part): void {
    if (part.type === 'open') this.#open(part.content)
    else if (part.type === 'grow') this.#grow(part)
    else if (part.type === 'payload') this.#payload = part.payload
    else if (part.type === 'cite') this.#grounding.cite(part.citation)
    else if (part.type === 'close') this.#close(part.content)
    else if (part.type === 'stop') this.#stop = part.stop
  }
  #open(content: Content): void {
    this.#content = content
    this.#payload = 'payload' in content ? content.payload : undefined
    this.#isEmpty = false
    this.#text = ''
    this.#grounding.beginBlock()
    if (isTextual(content) && content.text !== '') this.#emitText(content, content.text, {})
    if (content.type === 'text')
      for (const each of content.citations ?? []) this.#grounding.cite(each)
  }
  #grow({ text, logprobs }: Extract<Part, { readonly type: 'grow' }>): void {
    const content = this.#content
    if (content?.type === 'call') this.#content = { ...content, input: content.input + text }
    else if (content && isTextual(content)) this.#emitText(content, text, writeLogprobs(logprobs))
  }
  #emitText(content: Content, text: string, extraFields: Fields): void {
    const isThought = content.type === 'thought'
    this.#text += text
    if (!isThought) this.#grounding.add(text)
    this.#emit([isThought ? { text, thought: isThought } : { text }], extraFields)
  }
  /** A signature follows its text in a part of its own, as Google sends it. */
  #close(finalContent: Content | undefined): void {
    const content = finalContent ?? this.#content
    this.#content = undefined
    this.#grounding.endBlock()
    if (!content) return
    if (isTextual(content)) {
      this.#closeText(content)
      return
    }
    if (content.type === 'hostedCall') this.#grounding.addHostedCall(content)
    if (content.type === 'call') {
      this.#payload ??= payloadOfThoughts(this.#thoughts)
      this.#thoughts = []
    }
    const withPayload =
      this.#payload && content.type !== 'result' ? { ...content, payload: this.#payload } : content
    const parts = partsOf(withPayload as Content)
    if (parts.length > 0) this.#emit(parts as readonly Fields[])
  }
  #closeText(content: Textual): void {
    const payload = this.#payload
    if (!payload) return
    const isThought = content.type === 'thought'
    if (isThought) this.#thoughts.push({ type: 'thought', text: this.#text, payload })
    const thoughtFields = isThought && thoughtMember(this.#text !== '', payload)
    this.#emit([{ text: '', ...thoughtFields, ...signatureMember(payload) }])
  }
}
type Textual = Extract<Content, { readonly text: string }>
const isTextual = (content: Content): content is Textual =>
  content.type === 'text' || content.type === 'thought' || content.type === 'refusal'
