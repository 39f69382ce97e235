/** Suggestions for misspelled words. */

/** The nearest of `words`: at most one edit away, or two for words of six letters and more. */
export const nearest = (word: string, words: Iterable<string>): string | undefined => {
  const simplified = simplify(word)
  let best: string | undefined
  let limit = word.length < 6 ? 2 : 3
  for (const candidate of words) {
    if (candidate === word || Math.abs(candidate.length - word.length) > 3) continue
    const edits = distance(simplified, simplify(candidate), limit)
    if (edits < limit) [best, limit] = [candidate, edits]
  }
  return best
}

/** For a word that is not a name under `section`: the nearest name or, if none is near, a part of a
 *  message with the first 12 names. */
export const choicesFor = (word: string, section: string, names: readonly string[]) => {
  const suggestion = nearest(word, names)
  return { suggestion, choices: suggestion === undefined ? listed(section, names) : '' }
}

const listed = (section: string, names: readonly string[]): string => {
  if (names.length === 0) return `; \`${section}:\` has none`
  const rest = names.length > 12 ? `, and ${names.length - 12} more` : ''
  return `; \`${section}:\` has ${names.slice(0, 12).join(', ')}${rest}`
}

/** Removes case, `-`, `_` and spaces. */
const simplify = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '')

/** Edit distance with transpositions (Damerau-Levenshtein); returns `limit` if it is reached. */
const distance = (from: string, to: string, limit: number): number => {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      if (!same && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        cost = Math.min(cost, at(before, j - 2) + 1)
      row.push(cost)
    }
    if (Math.min(...row) >= limit) return limit
    before = last
    last = row
  }
  return at(last, to.length)
}
const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY
