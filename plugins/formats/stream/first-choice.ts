/** Leaves out the parts of further candidates, for formats whose answers have one only. */
import type { Part } from '../hub/answer.ts'

export class FirstChoice {
  readonly #otherBlocks = new Set<number>()
  /** Whether a part belongs to the first candidate, or to the whole answer. */
  has(part: Part): boolean {
    if (part.type === 'open' && part.choice > 0) this.#otherBlocks.add(part.index)
    if (part.type === 'stop') return part.choice === 0
    return !('index' in part && this.#otherBlocks.has(part.index))
  }
}
