/** What only one provider can read, on its way through a client that belongs to another: tagged with its origin, in base64,
 *  which every field for signatures takes. What comes back tagged is unpacked, and goes to its origin or nowhere. */
import type { Bytes } from '../../engine/plugin.ts'
import type { Seal } from './content.ts'

/** `tollgate:` are nine bytes, so that they are the same twelve letters in every seal. */
const MARK = 'tollgate:'
const TAG = Buffer.from(MARK).toString('base64')
const TAG_BYTES = Buffer.from(TAG)

/** For a client of `format`: as its own provider wrote it, or packed. */
export const sealedFor = (format: string, seal: Seal): string =>
  seal.origin === format ? seal.data : pack(seal)

/** What a client of `format` gave back: what we packed, or what its own provider wrote. */
export const unsealed = (
  format: string,
  text: string,
  more: Pick<Seal, 'kind' | 'id'> = {},
): Seal => unpack(text) ?? { origin: format, data: text, ...more }

const pack = ({ origin, data, kind, id }: Seal): string =>
  Buffer.from(MARK + JSON.stringify([origin, data, kind ?? null, id ?? null])).toString('base64')

const unpack = (text: string): Seal | undefined => {
  if (!text.startsWith(TAG)) return undefined
  try {
    const packed = Buffer.from(text, 'base64').toString().slice(MARK.length)
    const [origin, data, kind, id] = JSON.parse(packed) as readonly unknown[]
    if (typeof origin !== 'string' || typeof data !== 'string') return undefined
    return {
      origin,
      data,
      ...(typeof kind === 'string' && { kind }),
      ...(typeof id === 'string' && { id }),
    }
  } catch {
    return undefined
  }
}

/** Whether a request holds anything that another provider sealed: then its bytes must not pass as they are. */
export const holdsSeal = (bytes: Bytes): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(TAG_BYTES)
