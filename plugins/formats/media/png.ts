/** Writes an image as a PNG, 8 bits a sample, without filters. Pure. */
import { crc32, deflateSync } from 'node:zlib'

export const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** PNG colour types. */
export const GREYSCALE = 0
export const RGB = 2

/** `lines`: the rows, each with a leading 0 (no filter). */
export const encodePng = (
  size: { readonly width: number; readonly height: number },
  type: number,
  lines: Buffer,
): Buffer => {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, type, 0, 0, 0])
  header.writeUInt32BE(size.width, 0)
  header.writeUInt32BE(size.height, 4)
  const pixels = deflateSync(lines, { level: 1 })
  return Buffer.concat([
    SIGNATURE,
    makeChunk('IHDR', header),
    makeChunk('IDAT', pixels),
    makeChunk('IEND', Buffer.alloc(0)),
  ])
}
const makeChunk = (type: string, bytes: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), bytes])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(bytes.length)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}
