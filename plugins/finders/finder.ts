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
  const table = Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code)))
  return code => table[code] === true
}
export const DIGITS = characters(/[0-9]/)
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
