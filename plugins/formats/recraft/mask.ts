/** Converts OpenAI's mask (transparent where the image shall change) to Recraft's (white there,
 *  black elsewhere). Pure. */
import { inflateSync } from 'node:zlib'
import { encodePng, GREYSCALE, SIGNATURE } from '../media/png.ts'

/** The maximum number of pixels: decoding takes a few hundredths of a second. */
const MAX_PIXELS = 2_048 * 2_048
/** Colour types that end in an alpha channel -> channels. */
const CHANNELS: Readonly<Record<number, number>> = { 4: 2, 6: 4 }
const WHITE = 255

interface Head {
  readonly width: number
  readonly height: number
  /** Bytes of a pixel, and of its alpha channel. */
  readonly pixel: number
  readonly alpha: number
}

/** Undefined if the file is not a PNG with an alpha channel, is interlaced, or has no transparent
 *  pixel. */
export const convertMask = (png: Buffer): Buffer | undefined => {
  try {
    const chunks = chunksIn(png)
    const head = headOf(chunks.find(({ type }) => type === 'IHDR')?.bytes)
    if (!head) return undefined
    const compressedParts = chunks.filter(({ type }) => type === 'IDAT').map(({ bytes }) => bytes)
    const size = head.height * (1 + head.width * head.pixel)
    const rows = inflateSync(Buffer.concat(compressedParts), { maxOutputLength: size })
    const maskRows = rows.length === size ? decodeMask(rows, head) : undefined
    return maskRows?.includes(WHITE) ? encodePng(head, GREYSCALE, maskRows) : undefined
  } catch {
    return undefined
  }
}

const chunksIn = (png: Buffer): readonly { readonly type: string; readonly bytes: Buffer }[] => {
  const chunks: { readonly type: string; readonly bytes: Buffer }[] = []
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return chunks
  for (let offset = SIGNATURE.length; offset + 12 <= png.length; ) {
    const length = png.readUInt32BE(offset)
    const bytes = png.subarray(offset + 8, offset + 8 + length)
    chunks.push({ type: png.toString('latin1', offset + 4, offset + 8), bytes })
    offset += 12 + length
  }
  return chunks
}
const headOf = (bytes: Buffer | undefined): Head | undefined => {
  if (bytes?.length !== 13) return undefined
  const [width, height] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4)]
  const [depth = 0, type = 0, , , interlace] = bytes.subarray(8)
  const [channels, alpha] = [CHANNELS[type], depth / 8]
  if (!channels || (depth !== 8 && depth !== 16) || interlace !== 0) return undefined
  if (width === 0 || height === 0 || width * height > MAX_PIXELS) return undefined
  return { width, height, alpha, pixel: channels * alpha }
}

/** Extracts the alpha channel as rows with filter 0. A filter refers only to the same byte of other
 *  pixels, so that the colours need not be decoded. Of a 16-bit alpha only the first byte is
 *  read. */
const decodeMask = (rows: Buffer, { width, height, pixel, alpha }: Head): Buffer => {
  const maskRows = Buffer.alloc(height * (1 + width))
  let above = new Uint8Array(width)
  for (let y = 0; y < height; y++) {
    const rowStart = y * (1 + width * pixel)
    const undo = FILTERS[rows[rowStart] ?? 0]
    if (!undo) throw new Error('unknown PNG filter')
    const row = new Uint8Array(width)
    for (let x = 0; x < width; x++) {
      const leftByte = x > 0 ? (row[x - 1] as number) : 0
      const corner = x > 0 ? (above[x - 1] as number) : 0
      const raw = rows[rowStart + 1 + x * pixel + pixel - alpha] as number
      row[x] = raw + undo(leftByte, above[x] as number, corner)
      if (row[x] === 0) maskRows[y * (1 + width) + 1 + x] = WHITE
    }
    above = row
  }
  return maskRows
}
/** PNG §9.2: a row holds differences to these predictions. */
const FILTERS: readonly ((leftByte: number, above: number, corner: number) => number)[] = [
  () => 0,
  leftByte => leftByte,
  (_, above) => above,
  (leftByte, above) => (leftByte + above) >> 1,
  (leftByte, above, corner) => {
    const guess = leftByte + above - corner
    const toLeft = Math.abs(guess - leftByte)
    const toAbove = Math.abs(guess - above)
    const toCorner = Math.abs(guess - corner)
    if (toLeft <= toAbove && toLeft <= toCorner) return leftByte
    return toAbove <= toCorner ? above : corner
  },
]
