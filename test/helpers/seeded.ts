/** Chance that can be repeated: `SEED=7 npm test` draws the same again. */

export const seed = (): number => Number(process.env.SEED ?? 1)

/** mulberry32: numbers in [0, 1). */
export const createChance = (from = seed()): (() => number) => {
  let state = from >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `count` of a list, in the list's order. */
export const draw = <T>(list: readonly T[], count: number, chance = createChance()): T[] => {
  const left = list.map((_, index) => index)
  const drawn = new Set<number>()
  while (drawn.size < Math.min(count, list.length)) {
    const [index = 0] = left.splice(Math.floor(chance() * left.length), 1)
    drawn.add(index)
  }
  return list.filter((_, index) => drawn.has(index))
}
