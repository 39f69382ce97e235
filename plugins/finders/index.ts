/** The finders that guards name in `find:`. */
import { card } from './card.ts'
import { email } from './email.ts'
import type { Finder } from './finder.ts'
import { iban } from './iban.ts'
import { injection } from './injection.ts'
import { ip } from './ip.ts'
import { phone } from './phone.ts'
import { secret } from './secret.ts'

export const FINDERS = { email, card, iban, phone, ip, secret, injection } satisfies Readonly<
  Record<string, Finder>
>
export type FinderName = keyof typeof FINDERS
export const FINDER_NAMES = Object.keys(FINDERS) as readonly FinderName[]

export interface LabelledMatch {
  readonly start: number
  end: number
  readonly label: string
}

/** Characters that nothing shows, and full-width forms of ASCII. */
const DISGUISE = /[\u00ad\u200b-\u200d\u2060\ufeff\uff01-\uff5e]/
const FULL_WIDTH = /[\uff01-\uff5e]/
const TO_ASCII = 0xfee0
/** The text without disguises, and where each of its characters was. Undefined: it has none. */
const plainOf = (text: string) => {
  if (!DISGUISE.test(text)) return undefined
  let plain = ''
  const positions: number[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const isFullWidth = FULL_WIDTH.test(character)
    if (!isFullWidth && DISGUISE.test(character)) continue
    plain += isFullWidth ? String.fromCharCode(text.charCodeAt(at) - TO_ASCII) : character
    positions.push(at)
  }
  return { plain, positions }
}
const matchesIn = (finders: readonly Finder[], text: string): LabelledMatch[] =>
  finders.flatMap(finder => finder.find(text).map(match => ({ ...match, label: finder.label })))

/** The matches of several finders, also in disguise. Those that overlap are one, with the label of
 *  the first. */
export const findAll = (finders: readonly Finder[], text: string): readonly LabelledMatch[] => {
  const all = matchesIn(finders, text)
  const disguised = plainOf(text)
  if (disguised) {
    const { plain, positions } = disguised
    for (const { start, end, label } of matchesIn(finders, plain))
      all.push({ start: positions[start] ?? 0, end: (positions[end - 1] ?? 0) + 1, label })
  } else if (finders.length === 1) return all
  const merged: LabelledMatch[] = []
  for (const match of all.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (last && match.start < last.end) last.end = Math.max(last.end, match.end)
    else merged.push(match)
  }
  return merged
}
const openIn = (finders: readonly Finder[], text: string): number =>
  Math.min(text.length, ...finders.map(finder => finder.openFrom(text)))
/** Where text must be held back: see `Finder.openFrom`. */
export const openFromAll = (finders: readonly Finder[], text: string): number => {
  const open = openIn(finders, text)
  const disguised = plainOf(text)
  if (!disguised) return open
  const { plain, positions } = disguised
  return Math.min(open, positions[openIn(finders, plain)] ?? text.length)
}
