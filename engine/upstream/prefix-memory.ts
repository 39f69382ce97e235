/** The beginnings of requests that were sent to one address, and the choice of the address that has
 *  most of a request in its cache. Pure. */
import type { PrefixBlock } from '../plugin.ts'

/** The largest number of blocks that are known; the least recently used are dropped first. */
const MOST_BLOCKS = 20_000
/** Requests under way that weigh as much as a whole request. */
const LOAD_OF_REQUEST = 8

export class PrefixMemory {
  /** Hashes in the order of their last use. */
  readonly #hashes = new Set<number>()

  get size(): number {
    return this.#hashes.size
  }
  /** The share of a request that was sent before, from 0 to 1. */
  shareOf(prefix: readonly PrefixBlock[]): number {
    let end = 0
    for (const block of prefix) {
      if (!this.#hashes.has(block.hash)) break
      end = block.end
    }
    return end / (prefix.at(-1)?.end ?? 1)
  }
  add(prefix: readonly PrefixBlock[]): void {
    // The first block last: without it the others are of no use.
    for (const { hash } of prefix.toReversed()) {
      this.#hashes.delete(hash)
      this.#hashes.add(hash)
    }
    for (const hash of this.#hashes) {
      if (this.#hashes.size <= MOST_BLOCKS) break
      this.#hashes.delete(hash)
    }
  }
}

interface Place {
  readonly memory: PrefixMemory
  /** Requests under way, divided by the weight. */
  readonly load: number
}
/** The best ones by the known share of the request, minus the load beyond the least loaded one. */
export const bestByPrefix = <T>(
  list: readonly T[],
  prefix: readonly PrefixBlock[],
  placeOf: (each: T) => Place,
): readonly T[] => {
  const places = list.map(placeOf)
  const least = Math.min(...places.map(({ load }) => load))
  const scores = places.map(
    ({ memory, load }) => memory.shareOf(prefix) - (load - least) / LOAD_OF_REQUEST,
  )
  const best = Math.max(...scores)
  return list.filter((_, index) => scores[index] === best)
}
