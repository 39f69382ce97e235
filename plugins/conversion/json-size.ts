/** Bytes of a value as JSON. Pure. */
import { LARGE } from '../../engine/kit.ts'
import type { Json, Request } from '../../engine/plugin.ts'

/** Characters from which a text of a large value counts without its escapes: measured,
 *  `JSON.stringify` of an image of 14 MB takes 7 to 15 ms. */
const LONG = 64 * 1024

/** `request`: the value is its body, with small changes. Walking a small value costs more than
 *  writing it. */
export const jsonSize = (json: Json, { headers }: Pick<Request, 'headers'>): number =>
  Number(headers['content-length'] ?? 0) < LARGE
    ? Buffer.byteLength(JSON.stringify(json))
    : sizeOf(json)
const sizeOf = (json: Json): number => {
  if (typeof json === 'string')
    return json.length > LONG
      ? Buffer.byteLength(json) + 2
      : Buffer.byteLength(JSON.stringify(json))
  if (typeof json !== 'object' || json === null) return String(json).length
  const members = Array.isArray(json) ? json.map(sizeOf) : Object.entries(json).map(memberSize)
  return members.reduce((sum, each) => sum + each + 1, members.length === 0 ? 2 : 1)
}
const memberSize = ([name, value]: [string, Json]): number => sizeOf(name) + 1 + sizeOf(value)
