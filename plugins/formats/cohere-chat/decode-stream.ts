/** Decodes a stream: blocks have a start, deltas and an end; `message-end` has the finish reason
 *  and the counts. */
import { type Fields, lenientObject, lenientText } from '../fields.ts'
import { eventFields } from '../format.ts'
import type { Part } from '../hub/answer.ts'
import type { StreamDecoder } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import type { SseEvent } from '../stream/sse.ts'
import { callOf, citationsOf, stopOf } from './response.ts'
import { countsIn, metersOf } from './usage.ts'

type Emit = (part: Part) => void

export const decodeStream = (): StreamDecoder => new Decoder()

class Decoder implements StreamDecoder {
  /** Kind and index of the upstream's block -> the hub's index. */
  readonly #open = new Map<string, number>()
  #blockCount = 0
  #lastText: number | undefined
  #hasCalls = false
  /** Calls without arguments so far. */
  readonly #emptyCalls = new Set<number>()
  #hasEnded = false

  push(event: SseEvent, emit: Emit): void {
    const fields = eventFields(event)
    if (this.#hasEnded || !fields) return
    const delta = lenientObject(fields, 'delta')
    const message = lenientObject(delta, 'message')
    const index = typeof fields.index === 'number' ? fields.index : 0
    switch (fields.type) {
      case 'message-start':
        return this.#begin(fields, emit)
      case 'content-start':
      case 'content-delta':
        return this.#onContent(lenientObject(message, 'content'), index, emit)
      case 'content-end':
        return this.#close(`content ${index}`, emit)
      case 'tool-plan-delta':
        return this.#grow('plan', 'thought', lenientText(message, 'tool_plan') ?? '', emit)
      case 'tool-call-start':
      case 'tool-call-delta':
        return this.#onCall(lenientObject(message, 'tool_calls'), index, emit)
      case 'tool-call-end':
        return this.#close(`call ${index}`, emit)
      case 'citation-start':
        return this.#cite(lenientObject(message, 'citations'), emit)
      case 'message-end':
        return this.#end(delta, emit)
      default:
        return undefined
    }
  }
  close(): boolean {
    return this.#hasEnded
  }
  #begin({ id }: Fields, emit: Emit): void {
    emit({ type: 'begin', ...(typeof id === 'string' && { id }) })
  }
  #onContent(content: Fields, index: number, emit: Emit): void {
    const thought = lenientText(content, 'thinking')
    const kind = thought === undefined && content.type !== 'thinking' ? 'text' : 'thought'
    this.#grow(`content ${index}`, kind, thought ?? lenientText(content, 'text') ?? '', emit)
  }
  #grow(key: string, kind: 'text' | 'thought', text: string, emit: Emit): void {
    if (key !== 'plan') this.#close('plan', emit)
    const index = this.#open.get(key) ?? this.#openBlock(key, { type: kind, text: '' }, emit)
    if (text !== '') emit({ type: 'grow', index, text })
  }
  #onCall(call: Fields, at: number, emit: Emit): void {
    this.#close('plan', emit)
    const key = `call ${at}`
    const known = this.#open.get(key)
    const { input, ...content } = callOf(call, at)
    const index = known ?? this.#openBlock(key, { ...content, input: '' }, emit)
    this.#hasCalls = true
    if (known === undefined) this.#emptyCalls.add(index)
    if (input === '') return
    this.#emptyCalls.delete(index)
    emit({ type: 'grow', index, text: input })
  }
  #openBlock(key: string, content: Content, emit: Emit): number {
    const index = this.#blockCount++
    this.#open.set(key, index)
    if (content.type === 'text') this.#lastText = index
    emit({ type: 'open', index, choice: 0, content })
    return index
  }
  #close(key: string, emit: Emit): void {
    const index = this.#open.get(key)
    if (index === undefined) return
    this.#open.delete(key)
    if (this.#emptyCalls.delete(index)) emit({ type: 'grow', index, text: '{}' })
    emit({ type: 'close', index })
  }
  /** Only a text that is still open can be cited. */
  #cite(citation: Fields, emit: Emit): void {
    const index = this.#lastText
    if (index === undefined || ![...this.#open.values()].includes(index)) return
    for (const each of citationsOf(citation)) emit({ type: 'cite', index, citation: each })
  }
  #end(delta: Fields, emit: Emit): void {
    for (const key of [...this.#open.keys()]) this.#close(key, emit)
    const counts = countsIn(delta)
    if (counts) emit({ type: 'count', meters: metersOf(counts) })
    emit({ type: 'stop', choice: 0, stop: stopOf(delta.finish_reason, this.#hasCalls) })
    this.#hasEnded = true
    emit({ type: 'end' })
  }
}
