/** Encodes a stream for a client of this format: blocks strictly in sequence, full usage at the
 *  end. */
import type { Meters } from '../../slots.ts'
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { Part, Stop } from '../hub/answer.ts'
import { BlockSequence } from '../hub/block-sequence.ts'
import type { EncodeContext, StreamEncoder } from '../hub/codec.ts'
import { FirstChoice } from '../stream/first-choice.ts'
import { BlockWriter } from './answer/encode-block.ts'
import { messageHead } from './response.ts'
import { stopFields } from './stops.ts'
import { countSearches, countsOf, isSearch, usageOf } from './usage.ts'

export const encodeStream = (context: EncodeContext): StreamEncoder => new Encoder(context)

type PartOf<T extends Part['type']> = Extract<Part, { readonly type: T }>

const encodeEvent = (type: string, fields: Fields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

class Encoder implements StreamEncoder {
  readonly #context: EncodeContext
  readonly #sequence = new BlockSequence(part => this.#write(part))
  readonly #choice = new FirstChoice()
  #out = ''
  #hasBegun = false
  /** The number of blocks written so far. */
  #count = 0
  #block: BlockWriter | undefined
  #meters: Meters | undefined
  #searches = 0
  #stop: Stop = { reason: 'end' }

  constructor(context: EncodeContext) {
    this.#context = context
  }
  push(part: Part): string {
    this.#out = ''
    if (this.#choice.has(part) && !this.#sequence.add(part)) throw fault('ANSWER_TANGLED')
    return this.#out
  }
  failure(body: Fields): string {
    return `event: error\ndata: ${JSON.stringify(body)}\n\n`
  }
  #write(part: Part): void {
    if (part.type === 'begin') this.#begin(part)
    else if (part.type === 'count') this.#meters = part.meters
    else if (part.type === 'stop') this.#stop = part.stop
    else if (part.type === 'end') this.#end()
    else this.#change(part)
  }
  #begin(part: Omit<PartOf<'begin'>, 'type'>): void {
    this.#meters = part.meters ?? this.#meters
    if (this.#hasBegun) return
    this.#hasBegun = true
    const message = {
      ...messageHead(part, this.#context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      // The output count is known at the end.
      usage: { ...usageOf(part.meters, part.tier), output_tokens: 0 },
    }
    this.#out += encodeEvent('message_start', { message })
  }
  #change(part: PartOf<'open' | 'grow' | 'payload' | 'cite' | 'close'>): void {
    if (!this.#hasBegun) this.#begin({})
    if (part.type === 'open') {
      if (isSearch(part.content)) this.#searches++
      this.#block = new BlockWriter(part.content, (type, fields) => this.#emit(type, fields))
      return this.#block.open()
    }
    const block = this.#block
    if (!block) return
    if (part.type === 'grow') block.append(part.text)
    else if (part.type === 'payload') block.setPayload(part.payload)
    else if (part.type === 'cite') block.cite(part.citation)
    else {
      this.#block = undefined
      block.close(part.content)
    }
  }
  /** Writes an event of the current block; the next block begins after its stop. */
  #emit(type: string, fields: Fields): void {
    this.#out += encodeEvent(type, { index: this.#count, ...fields })
    if (type === 'content_block_stop') this.#count++
  }
  #end(): void {
    if (!this.#hasBegun) this.#begin({})
    const { reason, message } = this.#stop
    if (reason === 'broken') {
      const text = message ?? 'The model failed to write its answer.'
      this.#out += encodeEvent('error', { error: { type: 'api_error', message: text } })
      return
    }
    const delta = { ...stopFields(this.#stop), container: null }
    const meters = countSearches(this.#meters, this.#searches)
    this.#out += encodeEvent('message_delta', { delta, usage: countsOf(meters) })
    this.#out += encodeEvent('message_stop', {})
  }
}
