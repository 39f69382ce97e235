/** Writes an image as a PNG, 8 bits a sample, without filters. Pure. */
import { crc32, deflateSync } from 'node:zlib'

export const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** Colour types. */
export const GREY = 0
export const COLOURS = 2

/** `lines`: row by row, each behind a 0 that says it has no filter. */
export const pngOf = (
  size: { readonly width: number; readonly height: number },
  type: number,
  lines: Buffer,
): Buffer => {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, type, 0, 0, 0])
  head.writeUInt32BE(size.width, 0)
  head.writeUInt32BE(size.height, 4)
  const packed = deflateSync(lines, { level: 1 })
  return Buffer.concat([
    ...[SIGNATURE, chunk('IHDR', head), chunk('IDAT', packed), chunk('IEND', Buffer.alloc(0))],
  ])
}
const chunk = (type: string, bytes: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), bytes])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(bytes.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
