/** Bytes as Node's Buffer: the same memory, with more to ask of it. */
import type { Bytes } from '../plugin.ts'

export const asBuffer = (bytes: Bytes): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** Bytes up to which a copy as one-byte text, in one write with the head, costs less than a second buffer. */
export const ONE_WRITE = 64 * 1024

/** Makes one of the pieces from this place on. Returns the place behind it. */
export const joinLast = (parts: Buffer[], from: number): number => {
  parts.push(Buffer.concat(parts.splice(from)))
  return from + 1
}
