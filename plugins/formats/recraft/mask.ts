/** A mask of OpenAI's, transparent where an image is to be changed, as Recraft has it: white there, black elsewhere. Pure. */
import { inflateSync } from 'node:zlib'
import { GREY, pngOf, SIGNATURE } from '../png.ts'

/** Pixels: what is read in a few hundredths of a second. */
const MOST = 2_048 * 2_048
/** Colour types that end in an alpha channel -> channels. */
const CHANNELS: Readonly<Record<number, number>> = { 4: 2, 6: 4 }
const WHITE = 255

interface Head {
  readonly width: number
  readonly height: number
  /** Bytes of a pixel, and of its alpha. */
  readonly pixel: number
  readonly alpha: number
}

/** Undefined where it is no PNG with an alpha channel, not interlaced, or where none of it is transparent. */
export const whitened = (png: Buffer): Buffer | undefined => {
  try {
    const chunks = chunksIn(png)
    const head = headOf(chunks.find(({ type }) => type === 'IHDR')?.bytes)
    if (!head) return undefined
    const packed = chunks.filter(({ type }) => type === 'IDAT').map(({ bytes }) => bytes)
    const size = head.height * (1 + head.width * head.pixel)
    const rows = inflateSync(Buffer.concat(packed), { maxOutputLength: size })
    const shade = rows.length === size ? shadeOf(rows, head) : undefined
    return shade?.includes(WHITE) ? pngOf(head, GREY, shade) : undefined
  } catch {
    return undefined
  }
}

const chunksIn = (png: Buffer): readonly { readonly type: string; readonly bytes: Buffer }[] => {
  const chunks: { readonly type: string; readonly bytes: Buffer }[] = []
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return chunks
  for (let at = SIGNATURE.length; at + 12 <= png.length; ) {
    const length = png.readUInt32BE(at)
    const bytes = png.subarray(at + 8, at + 8 + length)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), bytes })
    at += 12 + length
  }
  return chunks
}
const headOf = (bytes: Buffer | undefined): Head | undefined => {
  if (bytes?.length !== 13) return undefined
  const [width, height] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4)]
  const [depth = 0, type = 0, , , interlace] = bytes.subarray(8)
  const [channels, alpha] = [CHANNELS[type], depth / 8]
  if (!channels || (depth !== 8 && depth !== 16) || interlace !== 0) return undefined
  if (width === 0 || height === 0 || width * height > MOST) return undefined
  return { width, height, alpha, pixel: channels * alpha }
}

/** The alpha channel, each row behind its filter of none. A filter reaches to the same byte of other pixels only, so that
 *  the colours need not be read; of an alpha of 16 bits the first 8 are looked at, which is exact enough. */
const shadeOf = (rows: Buffer, { width, height, pixel, alpha }: Head): Buffer => {
  const shade = Buffer.alloc(height * (1 + width))
  let above = new Uint8Array(width)
  for (let y = 0; y < height; y++) {
    const from = y * (1 + width * pixel)
    const undo = FILTERS[rows[from] ?? 0]
    if (!undo) throw new Error('no such filter')
    const row = new Uint8Array(width)
    for (let x = 0; x < width; x++) {
      const left = x > 0 ? (row[x - 1] as number) : 0
      const corner = x > 0 ? (above[x - 1] as number) : 0
      const raw = rows[from + 1 + x * pixel + pixel - alpha] as number
      row[x] = raw + undo(left, above[x] as number, corner)
      if (row[x] === 0) shade[y * (1 + width) + 1 + x] = WHITE
    }
    above = row
  }
  return shade
}
/** PNG §9.2: what stands in a row is the difference to these. */
const FILTERS: readonly ((left: number, above: number, corner: number) => number)[] = [
  () => 0,
  left => left,
  (_, above) => above,
  (left, above) => (left + above) >> 1,
  (left, above, corner) => {
    const guess = left + above - corner
    const toLeft = Math.abs(guess - left)
    const toAbove = Math.abs(guess - above)
    const toCorner = Math.abs(guess - corner)
    if (toLeft <= toAbove && toLeft <= toCorner) return left
    return toAbove <= toCorner ? above : corner
  },
]
