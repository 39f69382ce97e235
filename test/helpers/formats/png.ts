/** Writes PNGs pixel by pixel with given filters, and reads grey and colour ones. */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const chunk = (type: string, bytes: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(type), bytes])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(bytes.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
export interface Picture {
  readonly width: number
  /** The bytes of each row. */
  readonly rows: readonly Uint8Array[]
  /** 4: grey and alpha, 6: colours and alpha; other types have no alpha. */
  readonly type: number
  readonly depth: number
  /** The filter of each row. */
  readonly filters: readonly number[]
  readonly interlace?: number
}
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 }

export const writePng = ({ width, rows, type, depth, filters, interlace = 0 }: Picture): Buffer => {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(rows.length, 4)
  head.set([depth, type, 0, 0, interlace], 8)
  const pixel = ((CHANNELS[type] ?? 1) * depth) / 8
  const lines = rows.map((row, y) => {
    const filter = filters[y] ?? 0
    const above = rows[y - 1]
    return [filter, ...row.map((value, at) => value - predictByte(filter, row, above, at, pixel))]
  })
  const imageData = deflateSync(Uint8Array.from(lines.flat(), value => value & 255))
  // Two chunks, as in large images.
  const [half, rest] = [imageData.subarray(0, 5), imageData.subarray(5)]
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('tEXt', Buffer.from('a\0b')),
    chunk('IDAT', half),
    chunk('IDAT', rest),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
const predictByte = (
  filter: number,
  row: Uint8Array,
  above: Uint8Array | undefined,
  at: number,
  pixel: number,
): number => {
  const a = row[at - pixel] ?? 0
  const b = above?.[at] ?? 0
  const c = above?.[at - pixel] ?? 0
  const p = a + b - c
  const near = [a, b, c].toSorted((one, other) => Math.abs(p - one) - Math.abs(p - other))
  return [0, a, b, Math.floor((a + b) / 2), near[0] ?? 0][filter] ?? 0
}

/** Reads an image of three bytes a pixel. */
export const readColours = (png: Buffer) => {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  if (png[24] !== 8 || png[25] !== 2) throw new Error('it has no colours')
  return { width, height, pixels: linesIn(png, width * 3).flat() }
}
/** Reads an image of one grey byte a pixel, row by row. */
export const readGreys = (png: Buffer): readonly (readonly number[])[] => {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  if (png[24] !== 8 || png[25] !== 0) throw new Error('it is not grey')
  if (linesIn(png, width).length !== height) throw new Error('it is cut')
  return linesIn(png, width)
}
const linesIn = (png: Buffer, width: number): readonly (readonly number[])[] => {
  const at = png.indexOf('IDAT')
  const lines = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))
  return Array.from({ length: lines.length / (width + 1) }, (_, y) => {
    const from = y * (width + 1)
    if (lines[from] !== 0) throw new Error('a filter')
    return [...lines.subarray(from + 1, from + 1 + width)]
  })
}
