/** Caches what is made from texts: most texts of a configuration are the same at each build. */
import { LRUCache } from 'lru-cache'

/** Characters of the texts whose results are kept. */
const MAX_SIZE = 8 * 1024 * 1024

/** The size of a cached text, characters. The cache refuses a size of 0. */
export const sizeOf = (_: unknown, text: string): number => text.length + 1

/** Caches the results of `make`, by text. */
export const keepByText = <T extends object>(make: (text: string) => T): ((text: string) => T) => {
  const known = new LRUCache<string, T>({ maxSize: MAX_SIZE, sizeCalculation: sizeOf })
  return text => {
    const value = known.get(text) ?? make(text)
    known.set(text, value)
    return value
  }
}
