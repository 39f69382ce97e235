/** Decodes an upstream's stream: steps begin, grow and stop between the start and the end of an
 *  interaction. */
import { type Fields, lenientObject, lenientText } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { Part } from '../hub/answer.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { SseEvent } from '../stream/sse.ts'
import { StepReader } from './step-reader.ts'

export const decodeStream = (): StreamDecoder => new Decoder()

type Emit = (part: Part) => void
class Decoder implements StreamDecoder {
  readonly #reader = new StepReader()
  #hasEnded = false

  push(event: SseEvent, emit: Emit): void {
    const fields = eventFields(event)
    if (!fields || this.#hasEnded) return
    const type = lenientText(fields, 'event_type') ?? ''
    const interaction = lenientObject(fields, 'interaction')
    if (type !== 'error') this.#reader.begin(interaction, emit)
    if (type.startsWith('step.')) return this.#readStep(type, fields, emit)
    if (!type.startsWith('interaction.complete')) return
    this.#hasEnded = true
    this.#reader.finish(interaction, emit)
  }
  close(): boolean {
    return this.#hasEnded
  }
  #readStep(type: string, fields: Fields, emit: Emit): void {
    const index = typeof fields.index === 'number' ? fields.index : 0
    if (type === 'step.start') this.#reader.start(index, lenientObject(fields, 'step'), emit)
    else if (type === 'step.delta') this.#reader.delta(index, lenientObject(fields, 'delta'), emit)
    else if (type === 'step.stop') this.#reader.stop(index, emit)
  }
}
