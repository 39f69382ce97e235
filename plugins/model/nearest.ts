/** Did you mean …? The one of several names that a slip or two could have turned into this. Pure. */
export const nearest = (word: string, names: Iterable<string>): string | undefined => {
  let best: string | undefined
  let least = Math.max(2, Math.ceil(word.length / 3) + 1)
  for (const name of names) {
    if (name === word || Math.abs(name.length - word.length) >= least) continue
    const far = distance(word.toLowerCase(), name.toLowerCase())
    if (far < least) [best, least] = [name, far]
  }
  return best
}

/** Levenshtein's: letters put in, taken out or exchanged. */
const distance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...to].entries())
      next.push(
        Math.min(at(row, j) + (letter === other ? 0 : 1), at(row, j + 1) + 1, at(next, j) + 1),
      )
    row = next
  }
  return at(row, to.length)
}
const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY
