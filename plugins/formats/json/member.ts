/** Sets a member of a JSON object in its bytes and leaves all other bytes unchanged. */
import type { Bytes, Json } from '../../../engine/plugin.ts'
import type { Fields } from '../fields.ts'

const CLOSE = 0x7d

/** `body`: the parsed bytes. If the member exists already, the whole object is serialised again. */
export const setMember = (bytes: Bytes, body: Fields, key: string, value: Json): Bytes => {
  const end = bytes.lastIndexOf(CLOSE)
  if (key in body || end < 0 || Object.keys(body).length === 0)
    return rewriteMember(bytes, key, value)
  const member = `,${JSON.stringify(key)}:${JSON.stringify(value)}`
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(member), bytes.subarray(end)])
}
/** Parses `bytes` itself, because they may hold members that the client did not send. */
export const rewriteMember = (bytes: Bytes, key: string, value: Json): Bytes => {
  const body = JSON.parse(Buffer.from(bytes).toString()) as Fields
  return Buffer.from(JSON.stringify({ ...body, [key]: value }))
}
