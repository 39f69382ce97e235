/** Names with holes: `cl-*-thinking`, `gp-4-gizmo-g-{id:[A-Za-z0-9]+}`. What fits a hole is carried into other names. */
import { RE2JS } from 're2js'

export interface Pattern {
  readonly text: string
  /** More of these characters are written out: the pattern is more specific. */
  readonly literal: number
  readonly stars: number
  readonly holes: ReadonlySet<string>
  /** The same for two patterns that take the same names, whatever their holes are called. */
  readonly shape: string
  /** What fills the holes, or undefined. Linear in the name, whatever the pattern. */
  match(name: string): Fill | undefined
}
/** What stands for each `*`, in order, and for each named hole. */
export interface Fill {
  readonly stars: readonly string[]
  readonly holes: ReadonlyMap<string, string>
}

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'hole'; readonly name: string; readonly fits: string }

export const isPattern = (text: string): boolean => /[*{}]/.test(text)

/** Throws an Error that says what is wrong with it. */
export const parsePattern = (text: string): Pattern => {
  const pieces = piecesOf(text)
  const holes = pieces.filter(piece => piece.kind === 'hole')
  const names = new Set(holes.map(({ name }) => name))
  if (names.size < holes.length) throw new Error(`two holes of "${text}" have the same name`)
  const compiled = RE2JS.compile(`^${pieces.map(regularOf).join('')}$`)
  const [first] = pieces
  const prefix = first?.kind === 'text' ? first.text : ''
  return {
    text,
    literal: pieces.reduce(
      (sum, piece) => sum + (piece.kind === 'text' ? piece.text.length : 0),
      0,
    ),
    stars: pieces.filter(({ kind }) => kind === 'star').length,
    holes: names,
    shape: pieces.map(regularOf).join(''),
    // Most names fail at the first letters, and never meet the automaton.
    match: name => (name.startsWith(prefix) ? fillOf(compiled, pieces, name) : undefined),
  }
}

/** Puts what filled the holes into another name; every `*` takes the next star. */
export const carry = (template: string, fill: Fill): string => {
  let star = 0
  return template.replace(/\*|\{(\w+)\}/g, (whole, hole: string | undefined) =>
    hole === undefined ? (fill.stars[star++] ?? '') : (fill.holes.get(hole) ?? whole),
  )
}

const piecesOf = (text: string): readonly Piece[] => {
  const pieces: Piece[] = []
  for (let at = 0; at < text.length; ) {
    if (text[at] === '*') {
      if (pieces.at(-1)?.kind === 'star') throw new Error(`"${text}" has two stars side by side`)
      pieces.push({ kind: 'star' })
      at++
    } else if (text[at] === '{') {
      const end = closing(text, at)
      pieces.push(holeOf(text.slice(at + 1, end), text))
      at = end + 1
    } else {
      const end = text.slice(at).search(/[*{}]/)
      const next = end < 0 ? text.length : at + end
      if (next === at) throw new Error(`"${text}" closes a brace that it never opened`)
      pieces.push({ kind: 'text', text: text.slice(at, next) })
      at = next
    }
  }
  return pieces
}
/** Braces inside a hole (`{id:[0-9]{4}}`) belong to it. */
const closing = (text: string, from: number): number => {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  throw new Error(`"${text}" opens a brace and never closes it`)
}
const holeOf = (inside: string, text: string): Piece => {
  const [, name, fits] = /^(\w+):(.+)$/.exec(inside) ?? []
  if (name === undefined || fits === undefined)
    throw new Error(`"${text}": a hole is written {name:expression}, as in {id:[A-Za-z0-9]+}`)
  const compiled = RE2JS.compile(fits) // by itself: it must be whole, not half of the pattern around it
  if (compiled.groupCount() > 0) throw new Error(`"${text}": groups in a hole are written (?:…)`)
  return { kind: 'hole', name, fits }
}
const regularOf = (piece: Piece): string => {
  if (piece.kind === 'text') return RE2JS.quote(piece.text)
  return piece.kind === 'star' ? '(.+)' : `(${piece.fits})`
}

const fillOf = (compiled: RE2JS, pieces: readonly Piece[], name: string): Fill | undefined => {
  const matcher = compiled.matcher(name)
  if (!matcher.matches()) return undefined
  const stars: string[] = []
  const holes = new Map<string, string>()
  let group = 0
  for (const piece of pieces) {
    if (piece.kind === 'text') continue
    const filled = matcher.group(++group) ?? ''
    if (piece.kind === 'star') stars.push(filled)
    else holes.set(piece.name, filled)
  }
  return { stars, holes }
}
