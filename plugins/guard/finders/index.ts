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
/** The matches of several finders. Those that overlap are one, with the label of the first. */
export const findAll = (finders: readonly Finder[], text: string): readonly LabelledMatch[] => {
  const all: LabelledMatch[] = []
  for (const finder of finders)
    for (const { start, end } of finder.find(text)) all.push({ start, end, label: finder.label })
  if (finders.length === 1) return all
  const merged: LabelledMatch[] = []
  for (const match of all.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (last && match.start < last.end) last.end = Math.max(last.end, match.end)
    else merged.push(match)
  }
  return merged
}
/** Where text must be held back: see `Finder.openFrom`. */
export const openFromAll = (finders: readonly Finder[], text: string): number =>
  Math.min(text.length, ...finders.map(finder => finder.openFrom(text)))
