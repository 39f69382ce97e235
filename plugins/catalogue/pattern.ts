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
  | { readonly kind: 'placeholder'; readonly name: string; readonly expression: string }

export const isPattern = (text: string): boolean => /[*{}]/.test(text)

/** A pattern as customers read it, without expressions: `gp-4-gizmo-g-*`. */
export const readablePattern = (text: string): string =>
  isPattern(text)
    ? parsePieces(text)
        .map(piece => (piece.kind === 'text' ? piece.text : '*'))
        .join('')
    : text

/** Throws an Error that explains what is wrong with the pattern. */
export const parsePattern = (text: string): Pattern => {
  const pieces = parsePieces(text)
  const placeholders = pieces.filter(piece => piece.kind === 'placeholder')
  const names = new Set(placeholders.map(({ name }) => name))
  if (names.size < placeholders.length)
    throw new Error(`two placeholders of "${text}" have the same name`)
  const regExp = RE2JS.compile(`^${pieces.map(expressionOf).join('')}$`)
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
    match: name => (name.startsWith(prefix) ? capturesOf(regExp, pieces, name) : undefined),
  }
}

/** Inserts the captured parts into another name; every `*` takes the next star. */
export const insertCaptures = (template: string, captures: Captures): string => {
  let star = 0
  return template.replace(/\*|\{(\w+)\}/g, (whole, placeholder: string | undefined) =>
    placeholder === undefined
      ? (captures.stars[star++] ?? '')
      : (captures.placeholders.get(placeholder) ?? whole),
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
  // Compile the expression alone: text of the pattern around it must not complete it.
  const regExp = RE2JS.compile(expression)
  if (regExp.groupCount() > 0) throw new Error(`"${text}": write groups in a placeholder as (?:…)`)
  return { kind: 'placeholder', name, expression }
}
const expressionOf = (piece: Piece): string => {
  if (piece.kind === 'text') return RE2JS.quote(piece.text)
  return piece.kind === 'star' ? '(.+)' : `(${piece.expression})`
}

const capturesOf = (
  regExp: RE2JS,
  pieces: readonly Piece[],
  name: string,
): Captures | undefined => {
  const matcher = regExp.matcher(name)
  if (!matcher.matches()) return undefined
  const stars: string[] = []
  const placeholders = new Map<string, string>()
  let group = 0
  for (const piece of pieces) {
    if (piece.kind === 'text') continue
    const text = matcher.group(++group) ?? ''
    if (piece.kind === 'star') stars.push(text)
    else placeholders.set(piece.name, text)
  }
  return { stars, placeholders }
}
