/** Converts offsets in a text that arrives in pieces: Google counts UTF-8 bytes, the hub UTF-16
 *  units. ASCII pieces are not kept, because both offsets are equal in them. */

interface Piece {
  readonly byte: number
  readonly unit: number
  readonly bytes: number
  readonly text: string
}

export class Offsets {
  #bytes = 0
  #units = 0
  /** Pieces with non-ASCII text, in order. */
  readonly #wide: Piece[] = []

  get bytes(): number {
    return this.#bytes
  }
  get units(): number {
    return this.#units
  }
  add(text: string): void {
    const bytes = Buffer.byteLength(text)
    if (bytes === text.length) {
      this.#bytes += bytes
      this.#units += bytes
    } else for (const piece of piecesOf(text)) this.#addWide(piece)
  }
  #addWide(text: string): void {
    const bytes = Buffer.byteLength(text)
    if (bytes !== text.length)
      this.#wide.push({ byte: this.#bytes, unit: this.#units, bytes, text })
    this.#bytes += bytes
    this.#units += text.length
  }
  unitAt(byte: number): number {
    if (byte >= this.#bytes) return this.#units
    const piece = this.#lastPiece(each => each.byte <= byte)
    if (!piece) return Math.max(0, byte)
    const offset = byte - piece.byte
    if (offset >= piece.bytes) return piece.unit + piece.text.length + offset - piece.bytes
    return piece.unit + Buffer.from(piece.text).subarray(0, offset).toString().length
  }
  byteAt(unit: number): number {
    if (unit >= this.#units) return this.#bytes
    const piece = this.#lastPiece(each => each.unit <= unit)
    if (!piece) return Math.max(0, unit)
    const offset = unit - piece.unit
    if (offset >= piece.text.length) return piece.byte + piece.bytes + offset - piece.text.length
    return piece.byte + Buffer.byteLength(piece.text.slice(0, offset))
  }
  #lastPiece(matches: (piece: Piece) => boolean): Piece | undefined {
    let low = 0
    let high = this.#wide.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (matches(this.#wide[middle] as Piece)) low = middle + 1
      else high = middle
    }
    return this.#wide[low - 1]
  }
}

/** In UTF-16 units: a place in a piece is found by a walk of it. */
const MAX_PIECE = 256
/** The pieces of a text, none of which ends within a character. */
const piecesOf = (text: string): readonly string[] => {
  if (text.length <= MAX_PIECE) return [text]
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const end = start + MAX_PIECE
    const isWithin = text.codePointAt(end - 1) !== text.charCodeAt(end - 1)
    pieces.push(text.slice(start, isWithin ? end + 1 : end))
    start = isWithin ? end + 1 : end
  }
  return pieces
}
