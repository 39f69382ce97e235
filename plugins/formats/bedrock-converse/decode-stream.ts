/** Decodes a stream: blocks have deltas and an end, and some have a start; `messageStop` has the
 *  stop reason, and `metadata`, the last event, the counts. */
import { type Fields, isFields, lenientObject, lenientText, parseJson } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { Part } from '../hub/answer.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import type { SseEvent } from '../stream/sse.ts'
import { REDACTED } from './content.ts'
import { imageType } from './media.ts'
import { NAME } from './name.ts'
import { callOf, citationOf, freeInput, stopOf } from './response.ts'
import { countsIn, metersOf } from './usage.ts'

type Emit = (part: Part) => void

/** A block that has not ended. `pieces`: fragments that are emitted at its end. */
interface OpenBlock {
  readonly index: number
  readonly content: Content
  pieces: string[]
  hasInput: boolean
}

export const decodeStream = (): StreamDecoder => new Decoder()

class Decoder implements StreamDecoder {
  /** The upstream's index of a block -> the block. */
  readonly #open = new Map<number, OpenBlock>()
  #blockCount = 0
  #hasCalls = false
  #hasStopped = false
  #hasEnded = false

  get mayHaveEnded(): boolean {
    return this.#hasStopped && !this.#hasEnded
  }
  push(event: SseEvent, emit: Emit): void {
    const fields = eventFields(event)
    if (this.#hasEnded || !fields) return
    const at = typeof fields.contentBlockIndex === 'number' ? fields.contentBlockIndex : 0
    switch (event.name) {
      case 'messageStart':
        return emit({ type: 'begin' })
      case 'contentBlockStart':
        return this.#onStart(lenientObject(fields, 'start'), at, emit)
      case 'contentBlockDelta':
        return this.#onDelta(lenientObject(fields, 'delta'), at, emit)
      case 'contentBlockStop':
        return this.#close(at, emit)
      case 'messageStop':
        return this.#onStop(fields, emit)
      case 'metadata':
        return this.#onMetadata(fields, emit)
      default:
        return undefined
    }
  }
  /** Without `metadata` only the counts are missing. */
  close(emit: Emit): boolean {
    if (this.mayHaveEnded) this.#end(emit)
    return this.#hasEnded
  }
  #onStart({ toolUse, image }: Fields, at: number, emit: Emit): void {
    if (isFields(toolUse)) {
      this.#hasCalls = true
      this.#openBlock(at, { ...callOf(toolUse, at), input: '' }, emit)
    } else if (isFields(image)) {
      const mime = imageType(lenientText(image, 'format') ?? 'png')
      this.#openBlock(
        at,
        { type: 'media', kind: 'image', source: { type: 'data', data: '', mime } },
        emit,
      )
    }
  }
  #onDelta(delta: Fields, at: number, emit: Emit): void {
    const { text, toolUse, reasoningContent, citation, image } = delta
    if (typeof text === 'string') this.#grow(at, 'text', text, emit)
    else if (isFields(toolUse)) this.#onInput(lenientText(toolUse, 'input') ?? '', at, emit)
    else if (isFields(reasoningContent)) this.#onThought(reasoningContent, at, emit)
    else if (isFields(citation)) {
      const index = this.#block(at, 'text', emit).index
      emit({ type: 'cite', index, citation: citationOf(citation) })
    } else if (isFields(image))
      this.#open.get(at)?.pieces.push(lenientText(lenientObject(image, 'source'), 'bytes') ?? '')
  }
  #onThought(reasoning: Fields, at: number, emit: Emit): void {
    const [text, signature] = [lenientText(reasoning, 'text'), lenientText(reasoning, 'signature')]
    const redacted = lenientText(reasoning, 'redactedContent')
    if (text !== undefined) this.#grow(at, 'thought', text, emit)
    else if (signature) {
      const { index } = this.#block(at, 'thought', emit)
      emit({ type: 'payload', index, payload: { origin: NAME, data: signature } })
    } else if (redacted !== undefined) this.#block(at, 'thought', emit).pieces.push(redacted)
  }
  #onInput(text: string, at: number, emit: Emit): void {
    const block = this.#open.get(at)
    if (block?.content.type !== 'call' || text === '') return
    block.hasInput = true
    if (block.content.isFreeText) block.pieces.push(text)
    else emit({ type: 'grow', index: block.index, text })
  }
  #grow(at: number, kind: 'text' | 'thought', text: string, emit: Emit): void {
    if (text !== '') emit({ type: 'grow', index: this.#block(at, kind, emit).index, text })
  }
  /** The block at an index, which is opened by its first delta if it had no start. */
  #block(at: number, kind: 'text' | 'thought', emit: Emit): OpenBlock {
    const block = this.#open.get(at)
    if (block?.content.type === kind) return block
    if (block) this.#close(at, emit)
    return this.#openBlock(at, { type: kind, text: '' }, emit)
  }
  #openBlock(at: number, content: Content, emit: Emit): OpenBlock {
    const block = { index: this.#blockCount++, content, pieces: [], hasInput: false }
    this.#open.set(at, block)
    emit({ type: 'open', index: block.index, choice: 0, content })
    return block
  }
  #close(at: number, emit: Emit): void {
    const block = this.#open.get(at)
    if (!block) return
    this.#open.delete(at)
    const { index, content } = block
    finishBlock(block, emit)
    const whole = wholeImage(block)
    emit({ type: 'close', index, ...(content.type === 'media' && whole && { content: whole }) })
  }
  #onStop(fields: Fields, emit: Emit): void {
    for (const at of [...this.#open.keys()]) this.#close(at, emit)
    if (this.#hasStopped) return
    this.#hasStopped = true
    emit({ type: 'stop', choice: 0, stop: stopOf(fields, this.#hasCalls) })
  }
  #onMetadata(fields: Fields, emit: Emit): void {
    if (!this.#hasStopped) return
    const counts = countsIn(fields)
    if (counts) emit({ type: 'count', meters: metersOf(counts) })
    this.#end(emit)
  }
  #end(emit: Emit): void {
    this.#hasEnded = true
    emit({ type: 'end' })
  }
}

/** Emits what was collected until the end of a block. */
const finishBlock = ({ index, content, pieces, hasInput }: OpenBlock, emit: Emit): void => {
  if (content.type === 'call') {
    const text = content.isFreeText
      ? freeInput(parseJson(pieces.join('')) ?? pieces.join(''))
      : '{}'
    if (content.isFreeText || !hasInput) emit({ type: 'grow', index, text })
  } else if (content.type === 'thought' && pieces.length > 0) {
    const payload = { origin: NAME, data: joinBase64(pieces), kind: REDACTED }
    emit({ type: 'payload', index, payload })
  }
}
const wholeImage = ({ content, pieces }: OpenBlock): Content | undefined =>
  content.type === 'media' && content.source.type === 'data'
    ? { ...content, source: { ...content.source, data: joinBase64(pieces) } }
    : undefined
/** Each piece is base64 of its own. */
const joinBase64 = (pieces: readonly string[]): string =>
  Buffer.concat(pieces.map(piece => Buffer.from(piece, 'base64'))).toString('base64')
