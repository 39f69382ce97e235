/** Rebuilds the message of a stream of Messages from its events. Pure. */
import { type Fields, isFields, lenientText, parseJson } from '../../formats/fields.ts'
import type { Assembler } from '../record-answer.ts'

/** Members of deltas, and the member of the block that each appends to. */
const TEXT_MEMBERS: readonly string[] = ['text', 'thinking', 'signature', 'content']

export class MessageAssembler implements Assembler {
  #message: Fields = {}
  readonly #blocks = new Map<number, Record<string, unknown>>()
  readonly #inputs = new Map<number, string>()
  #isComplete = false

  /** The whole message; undefined until its last event. */
  get answer(): Fields | undefined {
    if (!this.#isComplete) return undefined
    const indexes = [...this.#blocks.keys()].sort((a, b) => a - b)
    return { ...this.#message, content: indexes.map(index => this.#blockAt(index)) }
  }
  /** `event`: the JSON of one event. */
  add(event: Fields): void {
    const { type, message, delta, usage } = event
    const index = Number(event.index)
    if (type === 'message_start' && isFields(message)) this.#message = message
    else if (type === 'content_block_start' && isFields(event.content_block))
      this.#blocks.set(index, { ...event.content_block })
    else if (type === 'content_block_delta' && isFields(delta)) this.#grow(index, delta)
    else if (type === 'message_delta' && isFields(delta)) {
      const counts = isFields(this.#message.usage) ? this.#message.usage : {}
      this.#message = {
        ...this.#message,
        ...delta,
        usage: { ...counts, ...(isFields(usage) ? usage : {}) },
      }
    } else if (type === 'message_stop') this.#isComplete = true
  }
  #grow(index: number, delta: Fields): void {
    const block = this.#blocks.get(index)
    if (!block) return
    const { partial_json: json, citation } = delta
    if (typeof json === 'string') this.#inputs.set(index, (this.#inputs.get(index) ?? '') + json)
    else if (citation !== undefined) {
      const { citations } = block
      block.citations = [...(Array.isArray(citations) ? citations : []), citation]
    } else
      for (const member of TEXT_MEMBERS) {
        const text = lenientText(delta, member)
        if (text !== undefined) block[member] = String(block[member] ?? '') + text
      }
  }
  #blockAt(index: number): Fields {
    const block = this.#blocks.get(index) as Fields
    const json = this.#inputs.get(index)
    return json === undefined ? block : { ...block, input: parseJson(json) ?? {} }
  }
}
