/** JSON in pieces, so that no turn of the event loop writes a large request at once. Pure. */
import { largeTurn } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'

/** Characters of a piece, about. */
const PIECE = 256 * 1024

/** The text of `JSON.stringify` in pieces of at most twice `PIECE` characters; a value of small
 *  members is one piece. */
export function* jsonPieces(json: Json): Generator<string, void> {
  let piece = ''
  for (const token of tokensOf(json)) {
    piece += token
    if (piece.length < PIECE) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
function* tokensOf(json: Json): Generator<string, void> {
  if (typeof json === 'string') yield* textTokens(json)
  else if (typeof json !== 'object' || json === null) yield JSON.stringify(json)
  else if (Array.isArray(json)) yield* listTokens(json)
  else yield* memberTokens(json as { readonly [name: string]: Json })
}
function* listTokens(list: readonly Json[]): Generator<string, void> {
  let before = '['
  for (const item of list) {
    yield before
    yield* tokensOf(item ?? null)
    before = ','
  }
  yield list.length === 0 ? '[]' : ']'
}
function* memberTokens(members: { readonly [name: string]: Json }): Generator<string, void> {
  let before = '{'
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue
    yield before
    yield `${JSON.stringify(name)}:`
    yield* tokensOf(value)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}
function* textTokens(text: string): Generator<string, void> {
  if (text.length <= PIECE) return yield JSON.stringify(text)
  yield '"'
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + PIECE)
    // Half a pair of surrogates would be written as an escape.
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end--
    yield JSON.stringify(text.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

/** The same over several turns of the event loop where the pieces are many. `onSize` gets the
 *  characters so far, and may throw. */
export const piecesOf = async (
  json: Json,
  onSize?: (size: number) => void,
): Promise<readonly string[]> => {
  const pieces: string[] = []
  let size = 0
  for (const piece of jsonPieces(json)) {
    size += piece.length
    onSize?.(size)
    if (pieces.push(piece) > 1) await largeTurn()
  }
  return pieces
}
/** The bytes of pieces; those of many are written over several turns of the event loop, of which
 *  the last has nothing else. */
export const bytesOf = async (pieces: readonly string[]): Promise<Buffer> => {
  const [first = ''] = pieces
  if (pieces.length <= 1) return Buffer.from(first)
  // Joined at the end, they would be copied once more in one turn.
  const bytes = Buffer.allocUnsafe(pieces.reduce((sum, each) => sum + Buffer.byteLength(each), 0))
  let at = 0
  for (const piece of pieces) {
    at += bytes.write(piece, at)
    await largeTurn()
  }
  return bytes
}
