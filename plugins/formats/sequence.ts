/** One block at a time, for formats whose blocks may not overlap: what opens while another is open waits for its end. */
import type { Part } from './answer.ts'

/** More than this, in characters of what waits, no upstream means. */
const WAITING_LIMIT = 4 * 1024 * 1024

type Block = Extract<Part, { readonly index: number }>

/** Passes parts on so that each block is closed before the next opens. A call whose input is whole JSON is closed as soon as
 *  another block opens: most upstreams write their calls one after the other, and then nothing waits. */
export class Sequence {
  readonly #emit: (part: Part) => void
  readonly #waiting = new Map<number, Block[]>()
  /** Closed by us, early. */
  readonly #shut = new Set<number>()
  #open: number | undefined
  /** The input of the open call so far; undefined where the open block is none. */
  #input: string | undefined
  #size = 0

  constructor(emit: (part: Part) => void) {
    this.#emit = emit
  }
  /** False when more waits than is reasonable. */
  take(part: Part): boolean {
    if (!('index' in part)) {
      if (part.type === 'stop' || part.type === 'end') this.#flush()
      this.#emit(part)
      return true
    }
    if (this.#shut.has(part.index)) return true
    if (part.type === 'open' && this.#open !== undefined && isWhole(this.#input)) this.#shutOpen()
    if (this.#open === undefined || this.#open === part.index) this.#pass(part)
    else this.#keep(part)
    return this.#size <= WAITING_LIMIT
  }
  #pass(part: Block): void {
    if (part.type === 'open') {
      this.#open = part.index
      this.#input = part.content.type === 'call' ? part.content.input : undefined
    } else if (part.type === 'grow' && this.#input !== undefined) this.#input += part.text
    this.#emit(part)
    if (part.type === 'close') this.#next()
  }
  #keep(part: Block): void {
    const queue = this.#waiting.get(part.index) ?? []
    queue.push(part)
    this.#waiting.set(part.index, queue)
    if (part.type === 'grow') this.#size += part.text.length
  }
  #shutOpen(): void {
    const index = this.#open as number
    this.#shut.add(index)
    this.#pass({ type: 'close', index })
  }
  /** The block that has waited longest goes on. */
  #next(): void {
    this.#open = undefined
    this.#input = undefined
    const [first] = this.#waiting
    if (!first) return
    const [index, parts] = first
    this.#waiting.delete(index)
    for (const part of parts) {
      if (part.type === 'grow') this.#size -= part.text.length
      this.#pass(part)
    }
  }
  /** At a stop everything has been said: what is open is closed, one after the other. */
  #flush(): void {
    while (this.#open !== undefined) this.#shutOpen()
  }
}
const isWhole = (input: string | undefined): boolean => {
  if (!input) return false
  try {
    JSON.parse(input)
    return true
  } catch {
    return false
  }
}
