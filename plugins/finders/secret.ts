/** Secrets by the prefixes that their issuers give them, JSON web tokens, and private keys. */
import {
  ALPHANUMERICS,
  characters,
  type Finder,
  type Match,
  runAfter,
  runBefore,
  withoutOverlaps,
} from './finder.ts'

const TOKEN = characters(/[A-Za-z0-9_.-]/)
const LONGEST = 4096
/** The code of the dot. */
const DOT = 46
/** Prefix, and the least characters that follow it. */
const PREFIXES: Readonly<Record<string, number>> = {
  'sk-': 20,
  sk_live_: 16,
  sk_test_: 16,
  rk_live_: 16,
  'st-': 30,
  whsec_: 24,
  AKIA: 16,
  ASIA: 16,
  ghp_: 36,
  gho_: 36,
  ghu_: 36,
  ghs_: 36,
  ghr_: 36,
  github_pat_: 36,
  'glpat-': 20,
  'xoxb-': 20,
  'xoxp-': 20,
  'xoxa-': 20,
  'xoxs-': 20,
  'xapp-': 20,
  AIza: 35,
  'ya29.': 30,
  hf_: 30,
  r8_: 30,
  gsk_: 40,
  'xai-': 40,
  'pplx-': 40,
  npm_: 36,
  'pypi-': 50,
  'SG.': 40,
  dop_v1_: 64,
  shpat_: 32,
  'tskey-': 20,
  lin_api_: 30,
  dckr_pat_: 20,
  'nvapi-': 40,
  eyJ: 40,
}
const START = new RegExp(Object.keys(PREFIXES).map(RegExp.escape).join('|'))
/** A number for the first two characters of a prefix. */
const pair = (first: number, second: number): number => first * 128 + second
/** Prefixes by the first two characters. */
const BY_PAIR: readonly (readonly string[] | undefined)[] = (() => {
  const table = Array.from<string[] | undefined>({ length: 128 * 128 })
  for (const prefix of Object.keys(PREFIXES)) {
    const index = pair(prefix.charCodeAt(0), prefix.charCodeAt(1))
    table[index] = [...(table[index] ?? []), prefix]
  }
  return table
})()
/** The prefix that begins with this letter or digit. */
const prefixAt = (text: string, at: number): string | undefined => {
  const second = text.charCodeAt(at + 1)
  const prefixes = second < 128 ? BY_PAIR[pair(text.charCodeAt(at), second)] : undefined
  return prefixes?.find(prefix => text.startsWith(prefix, at))
}
const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g

const tokens = (text: string): Match[] => {
  const matches: Match[] = []
  const first = text.search(START)
  if (first < 0) return matches
  let runEnd = 0
  let isInside = first > 0 && ALPHANUMERICS(text.charCodeAt(first - 1))
  for (let at = first; at < text.length; at++) {
    // A token begins where a word begins.
    const isWord = ALPHANUMERICS(text.charCodeAt(at))
    const prefix = isWord && !isInside ? prefixAt(text, at) : undefined
    isInside = isWord
    if (prefix === undefined) continue
    if (at >= runEnd) runEnd = runAfter(text, at, TOKEN, Number.POSITIVE_INFINITY)
    let end = Math.min(runEnd, at + LONGEST)
    while (text.charCodeAt(end - 1) === DOT) end--
    if (end - at < prefix.length + (PREFIXES[prefix] ?? 0)) continue
    // Without a digit it is a name, and so is the rest of it: sk-learn-something-long.
    const isSecret = /[0-9]/.test(text.slice(at + prefix.length, end))
    if (isSecret) matches.push({ start: at, end })
    isInside = ALPHANUMERICS(text.charCodeAt(end - 1))
    at = end - 1
  }
  return matches
}
/** A key without an end reaches to the end of the text. */
const keys = (text: string): Match[] => {
  if (!text.includes('-----BEGIN')) return []
  const ends = [...text.matchAll(KEY_END)].map(each => each.index + each[0].length)
  const matches: Match[] = []
  let next = 0
  for (const { index } of text.matchAll(KEY_BEGIN)) {
    if (index < (matches.at(-1)?.end ?? 0)) continue
    while ((ends[next] ?? text.length) <= index && next < ends.length) next++
    matches.push({ start: index, end: ends[next] ?? text.length })
  }
  return matches
}

export const secret: Finder = {
  label: 'SECRET',
  find(text) {
    const privateKeys = keys(text)
    const others = tokens(text)
    return privateKeys.length > 0 ? withoutOverlaps([...privateKeys, ...others]) : others
  },
  openFrom(text) {
    const key = text.lastIndexOf('-----BEGIN')
    const isOpen = key >= 0 && keys(text.slice(key)).every(({ end }) => key + end === text.length)
    const run = runBefore(text, text.length, TOKEN, LONGEST)
    return isOpen && text.length - key <= LONGEST ? Math.min(key, run) : run
  },
}
