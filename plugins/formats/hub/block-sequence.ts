/** Serialises blocks for formats whose blocks must not overlap: a block that opens while another is
 *  open waits until that one closes. */

import { parseJson } from '../fields.ts'
import type { Part } from './answer.ts'

/** The maximum length of waiting text, in characters; no valid upstream reaches it. */
const MAX_WAITING = 4 * 1024 * 1024

type Block = Extract<Part, { readonly index: number }>

/** Passes parts on so that each block closes before the next opens. A call whose input is complete
 *  JSON is closed as soon as another block opens: most upstreams send their calls one after the
 *  other, so that nothing has to wait. */
export class BlockSequence {
  readonly #emit: (part: Part) => void
  readonly #waiting = new Map<number, Block[]>()
  /** Indices of blocks that were closed here before their own `close`. */
  readonly #closedEarly = new Set<number>()
  #openIndex: number | undefined
  /** The input of the open call so far; undefined if the open block is not a call. */
  #input: string | undefined
  #size = 0

  constructor(emit: (part: Part) => void) {
    this.#emit = emit
  }
  /** Returns false if more text waits than MAX_WAITING. */
  add(part: Part): boolean {
    if (!('index' in part)) {
      if (part.type === 'stop' || part.type === 'end') this.#flush()
      this.#emit(part)
      return true
    }
    if (this.#closedEarly.has(part.index)) return true
    if (part.type === 'open' && this.#openIndex !== undefined && isCompleteJson(this.#input))
      this.#closeOpen()
    if (this.#openIndex === undefined || this.#openIndex === part.index) this.#forward(part)
    else this.#queue(part)
    return this.#size <= MAX_WAITING
  }
  #forward(part: Block): void {
    if (part.type === 'open') {
      this.#openIndex = part.index
      this.#input = part.content.type === 'call' ? part.content.input : undefined
    } else if (part.type === 'grow' && this.#input !== undefined) this.#input += part.text
    this.#emit(part)
    if (part.type === 'close') this.#openNext()
  }
  #queue(part: Block): void {
    const queue = this.#waiting.get(part.index) ?? []
    queue.push(part)
    this.#waiting.set(part.index, queue)
    if (part.type === 'grow') this.#size += part.text.length
  }
  #closeOpen(): void {
    const index = this.#openIndex as number
    this.#closedEarly.add(index)
    this.#forward({ type: 'close', index })
  }
  /** Continues with the block that has waited longest. */
  #openNext(): void {
    this.#openIndex = undefined
    this.#input = undefined
    const [first] = this.#waiting
    if (!first) return
    const [index, parts] = first
    this.#waiting.delete(index)
    for (const part of parts) {
      if (part.type === 'grow') this.#size -= part.text.length
      this.#forward(part)
    }
  }
  /** Closes every open block in turn: after a stop, no more content follows. */
  #flush(): void {
    while (this.#openIndex !== undefined) this.#closeOpen()
  }
}
const isCompleteJson = (input: string | undefined): boolean =>
  input !== undefined && parseJson(input) !== undefined
