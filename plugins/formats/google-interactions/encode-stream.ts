/** Encodes a stream for a client: steps one after the other, and the usage in the last event. */
import type { Meters } from '../../slots.ts'
import { fault } from '../faults.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import { Offsets } from '../google/offsets.ts'
import type { Part, Stop } from '../hub/answer.ts'
import { BlockSequence } from '../hub/block-sequence.ts'
import type { EncodeContext, StreamEncoder } from '../hub/codec.ts'
import type { Content, OpaquePayload } from '../hub/content.ts'
import { FirstChoice } from '../stream/first-choice.ts'
import { writeCitation } from './content.ts'
import { encodeFailure } from './errors.ts'
import { eventText } from './events.ts'
import { interactionOf } from './response.ts'
import { callStep, carriedBy, signatureOf, stepsOf } from './steps.ts'

export const encodeStream = (context: EncodeContext): StreamEncoder => new Encoder(context)

type PartOf<T extends Part['type']> = Extract<Part, { readonly type: T }>
/** The open block and what of it was written. */
interface Block {
  readonly content: Content
  text: string
  readonly offsets: Offsets
  payload: OpaquePayload | undefined
}

class Encoder implements StreamEncoder {
  readonly #context: EncodeContext
  readonly #sequence = new BlockSequence(part => this.#write(part))
  readonly #choice = new FirstChoice()
  #out = ''
  #hasBegun = false
  /** The number of steps written so far. */
  #steps = 0
  #block: Block | undefined
  #stop: Stop = { reason: 'end' }
  #facts: { created?: number | undefined; tier?: string | undefined; meters?: Meters | undefined } =
    {}

  constructor(context: EncodeContext) {
    this.#context = context
  }
  push(part: Part): string {
    this.#out = ''
    if (this.#choice.has(part) && !this.#sequence.add(part)) throw fault('ANSWER_TANGLED')
    return this.#out
  }
  failure(body: Fields): string {
    return encodeFailure(body)
  }
  #write(part: Part): void {
    this.#begin(part.type === 'begin' ? part : undefined)
    if (part.type === 'count') this.#facts.meters = part.meters
    else if (part.type === 'stop') this.#stop = part.stop
    else if (part.type === 'end') this.#end()
    else if (part.type === 'open') this.#open(part.content)
    else if (part.type !== 'begin') this.#change(part)
  }
  #begin(part: PartOf<'begin'> | undefined): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#facts = { created: part?.created, tier: part?.tier, meters: part?.meters }
    const { meters: _, ...facts } = this.#facts
    this.#emit('interaction.created', { interaction: interactionOf(this.#context, facts) })
  }
  #end(): void {
    if (this.#stop.reason === 'broken') {
      const message = this.#stop.message ?? 'The model failed to write its answer.'
      this.#out += encodeFailure({ error: { code: 502, message } })
      return
    }
    const tier = this.#facts.tier ?? this.#context.servedTier?.()
    const interaction = interactionOf(this.#context, { ...this.#facts, tier, stop: this.#stop })
    this.#emit('interaction.completed', { interaction })
  }

  // ---------------------------------------------------------------- blocks

  #open(content: Content): void {
    const payload = 'payload' in content ? content.payload : undefined
    const block: Block = { content, text: '', offsets: new Offsets(), payload }
    this.#block = block
    if (content.type === 'call') {
      for (const step of carriedBy(payload)) this.#whole(step)
      block.payload = undefined
      this.#start(callStep(content, undefined))
      if (content.input !== '') this.#grow(block, content.input)
    } else if (isTextual(content)) {
      this.#start({ type: content.type === 'thought' ? 'thought' : 'model_output' })
      if (content.text !== '') this.#grow(block, content.text)
      for (const each of content.type === 'text' ? (content.citations ?? []) : [])
        this.#annotate(block, writeCitation(each, block.offsets))
    }
  }
  #change(part: PartOf<'grow' | 'payload' | 'cite' | 'close'>): void {
    const block = this.#block
    if (!block) return
    if (part.type === 'grow') this.#grow(block, part.text)
    else if (part.type === 'payload') block.payload = part.payload
    else if (part.type === 'cite')
      this.#annotate(block, writeCitation(part.citation, block.offsets))
    else {
      this.#block = undefined
      this.#close(block, part.content ?? block.content)
    }
  }
  #grow(block: Block, text: string): void {
    block.text += text
    const { content } = block
    if (content.type === 'text') block.offsets.add(text)
    if (content.type === 'call') {
      // Free text is written as one argument, when it is whole.
      if (!content.isFreeText) this.#delta({ type: 'arguments_delta', arguments: text })
    } else if (content.type === 'thought')
      this.#delta({ type: 'thought_summary', content: { type: 'text', text } })
    else this.#delta({ type: 'text', text })
  }
  #annotate({ content }: Block, annotations: readonly Fields[]): void {
    if (content.type === 'text' && annotations.length > 0)
      this.#delta({ type: 'text_annotation_delta', annotations })
  }
  #close({ content: opened, text, payload }: Block, content: Content): void {
    if (opened.type === 'call') {
      const { arguments: input = {} } = callStep(opened, text)
      if (opened.isFreeText || text === '')
        this.#delta({ type: 'arguments_delta', arguments: JSON.stringify(input) })
    } else if (!isTextual(opened)) {
      for (const step of stepsOf(content)) this.#whole(step)
      return
    } else if (opened.type === 'thought' && payload)
      this.#delta({ type: 'thought_signature', signature: signatureOf(payload) })
    this.#stopStep()
    if (opened.type !== 'thought') for (const step of carriedBy(payload)) this.#whole(step)
  }

  // ---------------------------------------------------------------- events

  /** A step that comes in one piece; its contents come as deltas, as clients expect them. */
  #whole(step: Fields): void {
    const { content, signature, ...rest } = step
    const isOutput = step.type === 'model_output'
    const isThought = step.type === 'thought'
    this.#start(isOutput || isThought ? rest : step)
    if (isOutput && Array.isArray(content)) for (const each of content) this.#delta(each as Fields)
    if (isThought) this.#delta(omitUndefined({ type: 'thought_signature', signature }))
    this.#stopStep()
  }
  #start(step: Fields): void {
    this.#emit('step.start', { index: this.#steps, step })
  }
  #delta(delta: Fields): void {
    this.#emit('step.delta', { index: this.#steps, delta })
  }
  #stopStep(): void {
    this.#emit('step.stop', { index: this.#steps++ })
  }
  #emit(type: string, fields: Fields): void {
    this.#out += eventText(type, fields)
  }
}
type Textual = Extract<Content, { readonly text: string }>
const isTextual = (content: Content): content is Textual =>
  content.type === 'text' || content.type === 'thought' || content.type === 'refusal'
