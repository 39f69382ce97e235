/** Words and phrases of an operator, whatever their case. Words of letters match as whole words;
 *  scripts without spaces have no such boundary. */
import { characters, type Finder, type Match } from './finder.ts'

interface Node {
  readonly next: Map<number, Node>
  isEnd: boolean
}
const newNode = (): Node => ({ next: new Map(), isEnd: false })
const LETTER = /[\p{L}\p{N}_]/u
const NO_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const ASCII_WORD = characters(/[0-9A-Za-z_]/)
/** Characters of the longest word that a list may have. */
export const LONGEST_WORD = 100

/** In lower case, with the same length: this letter alone would become two. */
const lower = (text: string): string => text.replaceAll('İ', 'i').toLowerCase()
const isPartOfWord = (character: string): boolean =>
  LETTER.test(character) && !NO_SPACES.test(character)
/** Whether the match begins or ends within a longer word of letters. */
const splitsWord = (text: string, start: number, end: number): boolean =>
  (isPartOfWord(text.charAt(start)) && isPartOfWord(text.charAt(start - 1))) ||
  (isPartOfWord(text.charAt(end - 1)) && isPartOfWord(text.charAt(end)))

/** `words`: at least one. */
export const wordsFinder = (words: readonly string[]): Finder => {
  const root = newNode()
  /** 1 for the code of each first character. */
  const firsts = new Uint8Array(65_536)
  for (const word of words.map(lower)) {
    firsts[word.charCodeAt(0)] = 1
    let node = root
    for (let index = 0; index < word.length; index++) {
      const code = word.charCodeAt(index)
      const next = node.next.get(code) ?? newNode()
      node.next.set(code, next)
      node = next
    }
    node.isEnd = true
  }
  /** The end of the longest word that begins here, or 0. `isOpen`: the text ends before the word
   *  does, or before it is known whether the word ends. */
  const longestAt = (text: string, start: number) => {
    let node: Node | undefined = root
    let end = 0
    let at = start
    while (node) {
      if (node.isEnd && !splitsWord(text, start, at)) end = at
      if (at === text.length) return { end, isOpen: true }
      node = node.next.get(text.charCodeAt(at++))
    }
    return { end, isOpen: false }
  }
  return {
    label: 'WORD',
    find(original) {
      const text = lower(original)
      const matches: Match[] = []
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (firsts[code] !== 1) continue
        // No word begins within a run of letters: such text is read once.
        if (at > 0 && ASCII_WORD(code) && ASCII_WORD(text.charCodeAt(at - 1))) continue
        const { end } = longestAt(text, at)
        if (end === 0) continue
        matches.push({ start: at, end })
        at = end - 1
      }
      return matches
    },
    openFrom(original) {
      const from = Math.max(0, original.length - LONGEST_WORD - 1)
      const tail = lower(original.slice(from))
      for (let at = 0; at < tail.length; at++)
        if (firsts[tail.charCodeAt(at)] === 1 && longestAt(tail, at).isOpen) return from + at
      return original.length
    },
  }
}
