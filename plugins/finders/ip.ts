/** IP addresses of version 4 and 6. */
import { isIP } from 'node:net'
import { characters, finderOfRuns, type Match, runAfter, runBefore } from './finder.ts'

const ADDRESS = characters(/[0-9A-Fa-f:.]/)
const LETTERS = characters(/[0-9A-Za-z_.:-]/)
/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255` */
const LONGEST = 45
const MOST_PORT = 6
/** Dots of an ellipsis after the address. */
const MOST_DOTS = 3

/** Characters that every address contains. */
const ANCHOR = /[0-9]\.[0-9]|:[0-9A-Fa-f:]/g

const findAddresses = (text: string): Match[] => {
  const matches: Match[] = []
  let runEnd = 0
  for (const { index } of text.matchAll(ANCHOR)) {
    if (index < runEnd) continue
    const start = runBefore(text, index, ADDRESS, LONGEST)
    runEnd = runAfter(text, index, ADDRESS, Number.POSITIVE_INFINITY)
    const isApart = !LETTERS(text.charCodeAt(start - 1)) && !LETTERS(text.charCodeAt(runEnd))
    if (!isApart || runEnd - start > LONGEST + MOST_PORT + MOST_DOTS) continue
    let end = runEnd
    // The end of a sentence.
    while (/[.:]/.test(text.charAt(end - 1)) && !text.slice(start, end).endsWith('::')) end--
    const address = text.slice(start, Math.min(end, start + LONGEST + MOST_PORT))
    // A port may follow.
    const [host = ''] = isIP(address) ? [address] : address.split(':', 1)
    if (isIP(host) !== 0) matches.push({ start, end: start + host.length })
  }
  return matches
}
export const ip = finderOfRuns('IP', { are: ADDRESS, longest: LONGEST + MOST_PORT }, findAddresses)
