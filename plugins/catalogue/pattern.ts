/** Model name patterns: `cl-*-thinking`, `gp-4-gizmo-g-{id:[A-Za-z0-9]+}`. The parts that match `*`
 *  and placeholders can be inserted into target names. */
import { RE2JS } from 're2js'

export interface Pattern {
  readonly text: string
  /** Number of literal characters: a higher number is more specific. */
  readonly literal: number
  readonly stars: number
  readonly placeholders: ReadonlySet<string>
  /** Equal for patterns that match the same names, whatever their placeholders are called. */
  readonly shape: string
  /** The captured parts of a name, or undefined. Takes linear time for every pattern. */
  match(name: string): Captures | undefined
}
/** The text that matched each `*`, in order, and each placeholder. */
export interface Captures {
  readonly stars: readonly string[]
  readonly placeholders: ReadonlyMap<string, string>
}

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'hole'; readonly name: string; readonly fits: string }

export const isPattern = (text: string): boolean => /[*{}]/.test(text)

/** Throws an Error that explains what is wrong with the pattern. */
export const parsePattern = (text: string): Pattern => {
  const pieces = parsePieces(text)
  const holes = pieces.filter(piece => piece.kind === 'hole')
  const names = new Set(holes.map(({ name }) => name))
  if (names.size < holes.length) throw new Error(`two placeholders of "${text}" have the same name`)
  const compiled = RE2JS.compile(`^${pieces.map(expressionOf).join('')}$`)
  const [first] = pieces
  const prefix = first?.kind === 'text' ? first.text : ''
  return {
    text,
    literal: pieces.reduce(
      (sum, piece) => sum + (piece.kind === 'text' ? piece.text.length : 0),
      0,
    ),
    stars: pieces.filter(({ kind }) => kind === 'star').length,
    placeholders: names,
    shape: pieces.map(expressionOf).join(''),
    // Most names differ in the first letters, which saves running the automaton.
    match: name => (name.startsWith(prefix) ? capturesOf(compiled, pieces, name) : undefined),
  }
}

/** Inserts the captured parts into another name; every `*` takes the next star. */
export const insertCaptures = (template: string, fill: Captures): string => {
  let star = 0
  return template.replace(/\*|\{(\w+)\}/g, (whole, placeholder: string | undefined) =>
    placeholder === undefined
      ? (fill.stars[star++] ?? '')
      : (fill.placeholders.get(placeholder) ?? whole),
  )
}

const parsePieces = (text: string): readonly Piece[] => {
  const pieces: Piece[] = []
  for (let index = 0; index < text.length; ) {
    if (text[index] === '*') {
      if (pieces.at(-1)?.kind === 'star') throw new Error(`"${text}" has two adjacent stars`)
      pieces.push({ kind: 'star' })
      index++
    } else if (text[index] === '{') {
      const end = closingBrace(text, index)
      pieces.push(parsePlaceholder(text.slice(index + 1, end), text))
      index = end + 1
    } else {
      const end = text.slice(index).search(/[*{}]/)
      const next = end < 0 ? text.length : index + end
      if (next === index) throw new Error(`"${text}" has a closing brace without an opening brace`)
      pieces.push({ kind: 'text', text: text.slice(index, next) })
      index = next
    }
  }
  return pieces
}
/** Index of the brace that closes a placeholder, which may contain braces: `{id:[0-9]{4}}`. */
const closingBrace = (text: string, from: number): number => {
  let depth = 0
  for (let index = from; index < text.length; index++) {
    if (text[index] === '{') depth++
    else if (text[index] === '}' && --depth === 0) return index
  }
  throw new Error(`"${text}" has an opening brace without a closing brace`)
}
const parsePlaceholder = (inside: string, text: string): Piece => {
  const [, name, expression] = /^(\w+):(.+)$/.exec(inside) ?? []
  if (name === undefined || expression === undefined)
    throw new Error(
      `"${text}": write a placeholder as {name:expression}, for example {id:[A-Za-z0-9]+}`,
    )
  const compiled = RE2JS.compile(expression) // alone, so that it cannot be completed by the pattern around it
  if (compiled.groupCount() > 0)
    throw new Error(`"${text}": write groups in a placeholder as (?:…)`)
  return { kind: 'hole', name, fits: expression }
}
const expressionOf = (piece: Piece): string => {
  if (piece.kind === 'text') return RE2JS.quote(piece.text)
  return piece.kind === 'star' ? '(.+)' : `(${piece.fits})`
}

const capturesOf = (
  compiled: RE2JS,
  pieces: readonly Piece[],
  name: string,
): Captures | undefined => {
  const matcher = compiled.matcher(name)
  if (!matcher.matches()) return undefined
  const stars: string[] = []
  const holes = new Map<string, string>()
  let group = 0
  for (const piece of pieces) {
    if (piece.kind === 'text') continue
    const text = matcher.group(++group) ?? ''
    if (piece.kind === 'star') stars.push(text)
    else holes.set(piece.name, text)
  }
  return { stars, placeholders: holes }
}
