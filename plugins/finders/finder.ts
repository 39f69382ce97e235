/** The interface of all finders of texts. Finders read each character a bounded number of times:
 *  no text can stall a worker. */

/** Positions in a text: from `start` up to, not including, `end`. */
export interface Match {
  readonly start: number
  readonly end: number
}
export interface Finder {
  /** Its name in placeholders: `EMAIL`. */
  readonly label: string
  /** All matches, in order, without overlaps. */
  find(text: string): readonly Match[]
  /** The first position at which a match may begin that further text completes or lengthens; the
   *  length of the text if there is none. No match that `find` returns lies across it. */
  openFrom(text: string): number
}

/** Characters by their code, for quick tests. */
export type Characters = (code: number) => boolean
/** `pattern`: of one character. Characters beyond ASCII are not part of it. */
export const characters = (pattern: RegExp): Characters => {
  const table = Uint8Array.from({ length: 128 }, (_, code) =>
    pattern.test(String.fromCharCode(code)) ? 1 : 0,
  )
  return code => code < 128 && table[code] === 1
}
export const DIGITS = characters(/[0-9]/)
export const LETTERS = characters(/[A-Za-z]/)
export const ALPHANUMERICS = characters(/[0-9A-Za-z]/)

/** The start of the run of these characters that ends at `end`, at most `longest` of them. */
export const runBefore = (text: string, end: number, are: Characters, longest: number): number => {
  let start = end
  while (start > 0 && end - start < longest && are(text.charCodeAt(start - 1))) start--
  return start
}
/** The end of the run of these characters that begins at `start`. */
export const runAfter = (text: string, start: number, are: Characters, longest: number): number => {
  let end = start
  while (end < text.length && end - start < longest && are(text.charCodeAt(end))) end++
  return end
}

/** Adds a match that begins after the last one does. If both overlap they become one, with what
 *  else the earlier has. */
export const addMatch = <M extends Match>(matches: M[], match: M): void => {
  const last = matches.at(-1)
  if (!last || match.start >= last.end) matches.push(match)
  else if (match.end > last.end) matches[matches.length - 1] = { ...last, end: match.end }
}
/** In order, those that overlap as one. */
export const withoutOverlaps = <M extends Match>(matches: readonly M[]): M[] => {
  const result: M[] = []
  for (const match of matches.toSorted((a, b) => a.start - b.start || b.end - a.end))
    addMatch(result, match)
  return result
}

/** A finder whose matches have these characters only, at most `longest` of them. */
export const finderOfRuns = (
  label: string,
  { are, longest }: { readonly are: Characters; readonly longest: number },
  find: Finder['find'],
): Finder => ({
  label,
  find,
  openFrom: text => runBefore(text, text.length, are, longest),
})
