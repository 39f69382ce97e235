/** Secrets by the prefixes that their issuers give them, JSON web tokens, and private keys. */
import {
  ALPHANUMERICS,
  characters,
  type Finder,
  type Match,
  runAfter,
  runBefore,
} from './finder.ts'

const TOKEN = characters(/[A-Za-z0-9_.-]/)
const LONGEST = 4096
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
const START = new RegExp(Object.keys(PREFIXES).map(RegExp.escape).join('|'), 'g')
const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g

const tokens = (text: string): Match[] => {
  const matches: Match[] = []
  let runEnd = 0
  let next = 0
  for (const { 0: prefix, index } of text.matchAll(START)) {
    if (index < next || (index > 0 && ALPHANUMERICS(text.charCodeAt(index - 1)))) continue
    if (index >= runEnd) runEnd = runAfter(text, index, TOKEN, Number.POSITIVE_INFINITY)
    let end = Math.min(runEnd, index + LONGEST)
    while (text.charAt(end - 1) === '.') end--
    if (end - index < prefix.length + (PREFIXES[prefix] ?? 0)) continue
    // Without a digit it is a name, and so is the rest of it: sk-learn-something-long.
    const isSecret = /[0-9]/.test(text.slice(index + prefix.length, end))
    if (isSecret) matches.push({ start: index, end })
    next = end
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
    const isInside = ({ start }: Match): boolean =>
      privateKeys.some(each => start >= each.start && start < each.end)
    return [...privateKeys, ...tokens(text).filter(each => !isInside(each))].toSorted(
      (a, b) => a.start - b.start,
    )
  },
  openFrom(text) {
    const key = text.lastIndexOf('-----BEGIN')
    const isOpen = key >= 0 && keys(text.slice(key)).every(({ end }) => key + end === text.length)
    const run = runBefore(text, text.length, TOKEN, LONGEST)
    return isOpen && text.length - key <= LONGEST ? Math.min(key, run) : run
  },
}
