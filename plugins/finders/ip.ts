/** IP addresses of version 4 and 6. */
import { isIPv6 } from 'node:net'
import { characters, DIGITS, finderOfRuns, type Match, runAfter, runBefore } from './finder.ts'

const ADDRESS = characters(/[0-9A-Fa-f:.]/)
/** Characters that follow a colon in an address. */
const AFTER_COLON = characters(/[0-9A-Fa-f:]/)
const WORD = characters(/[0-9A-Za-z_.:-]/)
/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255` */
const LONGEST = 45
const MOST_PORT = 6
/** Dots of an ellipsis after the address. */
const MOST_DOTS = 3
/** Every address has one. */
const ANCHOR = /[0-9]\.[0-9]|:[0-9A-Fa-f:]/
/** The codes of a dot, a colon and the digit 0. */
const [DOT, COLON, ZERO] = [46, 58, 48]

/** Whether four numbers up to 255 fill the range, without a zero before them. */
const isVersion4 = (text: string, start: number, end: number): boolean => {
  let parts = 1
  let value = -1
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === DOT && value >= 0) {
      parts++
      value = -1
    } else if (DIGITS(code) && value !== 0) {
      value = Math.max(value, 0) * 10 + code - ZERO
      if (value > 255) return false
    } else return false
  }
  return parts === 4 && value >= 0
}
/** The end of the address that begins here, before a port; 0: none. `end`: of the run. */
const endOfAddress = (text: string, start: number, end: number): number => {
  let colons = 0
  let host = end
  for (let at = end - 1; at >= start; at--)
    if (text.charCodeAt(at) === COLON) {
      colons++
      host = at
    }
  if (colons > 1 && isIPv6(text.slice(start, end))) return end
  return isVersion4(text, start, host) ? host : 0
}
/** The end without that of a sentence: dots and colons, save two colons. */
const withoutStops = (text: string, start: number, runEnd: number): number => {
  let end = runEnd
  for (; end > start; end--) {
    const code = text.charCodeAt(end - 1)
    if (code !== DOT && code !== COLON) break
    const before = end - 2 >= start ? text.charCodeAt(end - 2) : 0
    if (code === COLON && before === COLON) break
  }
  return end
}

const findAddresses = (text: string): Match[] => {
  const matches: Match[] = []
  const first = text.search(ANCHOR)
  if (first < 0) return matches
  for (let at = first; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== DOT && code !== COLON) continue
    const isAnchor =
      code === COLON
        ? AFTER_COLON(text.charCodeAt(at + 1))
        : at > 0 && DIGITS(text.charCodeAt(at - 1)) && DIGITS(text.charCodeAt(at + 1))
    if (!isAnchor) continue
    const start = runBefore(text, at, ADDRESS, LONGEST)
    const runEnd = runAfter(text, at, ADDRESS, Number.POSITIVE_INFINITY)
    const isApart =
      (start === 0 || !WORD(text.charCodeAt(start - 1))) && !WORD(text.charCodeAt(runEnd))
    if (isApart && runEnd - start <= LONGEST + MOST_PORT + MOST_DOTS) {
      const trimmed = withoutStops(text, start, runEnd)
      const end = endOfAddress(text, start, Math.min(trimmed, start + LONGEST + MOST_PORT))
      if (end > 0) matches.push({ start, end })
    }
    at = runEnd
  }
  return matches
}
export const ip = finderOfRuns('IP', { are: ADDRESS, longest: LONGEST + MOST_PORT }, findAddresses)
