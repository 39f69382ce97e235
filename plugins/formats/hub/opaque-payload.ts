/** Opaque payloads of a provider, as a client of another format keeps them. A payload is tagged
 *  with its origin and encoded as base64, which every signature field accepts. A tagged payload
 *  that comes back is decoded, and sent to its origin only. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import type { OpaquePayload } from './content.ts'

/** `tollgate:` has nine bytes, so that its base64 is the same twelve letters in every payload. */
const PREFIX = 'tollgate:'
const BASE64_PREFIX = Buffer.from(PREFIX).toString('base64')
const PREFIX_BYTES = Buffer.from(BASE64_PREFIX)

/** Encodes a payload for a client of `format`: unchanged if that format is its origin, otherwise
 *  tagged. */
export const encodePayload = (format: string, payload: OpaquePayload): string =>
  payload.origin === format ? payload.data : encodeTagged(payload)

/** Decodes a payload from a client of `format`: tagged, or written by the client's own provider. */
export const decodePayload = (
  format: string,
  text: string,
  properties: Pick<OpaquePayload, 'kind' | 'id'> = {},
): OpaquePayload => decodeTagged(text) ?? { origin: format, data: text, ...properties }

const encodeTagged = ({ origin, data, kind, id }: OpaquePayload): string =>
  Buffer.from(PREFIX + JSON.stringify([origin, data, kind ?? null, id ?? null])).toString('base64')

const decodeTagged = (text: string): OpaquePayload | undefined => {
  if (!text.startsWith(BASE64_PREFIX)) return undefined
  try {
    const json = Buffer.from(text, 'base64').toString().slice(PREFIX.length)
    const [origin, data, kind, id] = JSON.parse(json) as readonly unknown[]
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

/** Whether a request holds a tagged payload of another provider, so that its bytes must not pass
 *  unchanged. */
export const hasForeignPayload = (bytes: Bytes): boolean => {
  const buffer = asBuffer(bytes)
  return buffer.includes(RARE_PART) && buffer.includes(PREFIX_BYTES)
}
/** A part that begins with a letter that is rare in text: Node finds it with vector instructions. A
 *  pattern of eight bytes or more takes another search, 40 times as slow in prose. */
const RARE_PART = PREFIX_BYTES.subarray(1, 8)
