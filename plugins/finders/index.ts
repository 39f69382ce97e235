/** The finders that guards name in `find:`. */
import { card } from './card.ts'
import { email } from './email.ts'
import { type Finder, type Match, withoutOverlaps } from './finder.ts'
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

export interface LabelledMatch extends Match {
  readonly label: string
}

/** Characters that nothing shows, and full-width forms of ASCII. */
const DISGUISE = /[\u00ad\u200b-\u200d\u2060\ufeff\uff01-\uff5e]/
const isHidden = (code: number): boolean =>
  code === 0xad || (code >= 0x200b && code <= 0x200d) || code === 0x2060 || code === 0xfeff
const isFullWidth = (code: number): boolean => code >= 0xff01 && code <= 0xff5e
const TO_ASCII = 0xfee0
/** The text without disguises, and where each of its characters was. Undefined: it has none. */
const plainOf = (text: string) => {
  if (!DISGUISE.test(text)) return undefined
  const codes = new Uint16Array(text.length)
  const positions = new Int32Array(text.length)
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isHidden(code)) continue
    codes[length] = isFullWidth(code) ? code - TO_ASCII : code
    positions[length++] = at
  }
  const plain = Buffer.from(codes.buffer, 0, 2 * length).toString('utf16le')
  return { plain, positions: positions.subarray(0, length) }
}
const matchesIn = (finders: readonly Finder[], text: string): LabelledMatch[] =>
  finders.flatMap(({ label, find }) => find(text).map(({ start, end }) => ({ start, end, label })))

/** The matches of several finders, also in disguise. Those that overlap are one, with the label of
 *  the first. */
export const findAll = (finders: readonly Finder[], text: string): readonly LabelledMatch[] => {
  const all = matchesIn(finders, text)
  const disguised = plainOf(text)
  if (!disguised) return finders.length === 1 ? all : withoutOverlaps(all)
  const { plain, positions } = disguised
  for (const { start, end, label } of matchesIn(finders, plain))
    all.push({ start: positions[start] ?? 0, end: (positions[end - 1] ?? 0) + 1, label })
  return withoutOverlaps(all)
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
