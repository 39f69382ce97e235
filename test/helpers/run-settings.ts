/** The settings of a test run: its long form (LONG) and the seed of its random numbers (SEED). */

export const LONG = process.env.LONG === '1'
export const shortOrLong = <T>(short: T, long: T): T => (LONG ? long : short)

export const seed = (): number => Number(process.env.SEED ?? 1)

/** mulberry32: numbers in [0, 1). */
export const createChance = (from = seed()): (() => number) => {
  let state = from >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let hash = Math.imul(state ^ (state >>> 15), state | 1)
    hash ^= hash + Math.imul(hash ^ (hash >>> 7), hash | 61)
    return ((hash ^ (hash >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws `count` elements of a list, in the list's order. */
export const draw = <T>(list: readonly T[], count: number, chance = createChance()): T[] => {
  const remaining = list.map((_, index) => index)
  const indexes = new Set<number>()
  while (indexes.size < Math.min(count, list.length)) {
    const [index = 0] = remaining.splice(Math.floor(chance() * remaining.length), 1)
    indexes.add(index)
  }
  return list.filter((_, index) => indexes.has(index))
}
