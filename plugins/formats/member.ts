/** Puts a member into a JSON object: the bytes of all others stay as they came. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { Fields } from './fields.ts'

const CLOSE = 0x7d

/** `body`: what the client's bytes said. A member of that name is replaced, which costs writing all of it anew. */
export const withMember = (bytes: Bytes, body: Fields, key: string, value: Json): Bytes => {
  const end = bytes.lastIndexOf(CLOSE)
  if (key in body || end < 0 || Object.keys(body).length === 0) return rewritten(bytes, key, value)
  const member = `,${JSON.stringify(key)}:${JSON.stringify(value)}`
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(member), bytes.subarray(end)])
}
/** Of the bytes as they are: they may hold another member already than the client's did. */
export const rewritten = (bytes: Bytes, key: string, value: Json): Bytes => {
  const body = JSON.parse(Buffer.from(bytes).toString()) as Fields
  return Buffer.from(JSON.stringify({ ...body, [key]: value }))
}
