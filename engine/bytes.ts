/** Bytes as Node's Buffer: the same memory, with more to ask of it. */
import type { Bytes } from './plugin.ts'

export const asBuffer = (bytes: Bytes): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
