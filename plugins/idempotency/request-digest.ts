/** A digest of everything that the response to a request depends on. */
import { createHash, type Hash } from 'node:crypto'
import { LARGE, largeTurn } from '../../engine/kit.ts'
import type { Bytes, Request } from '../../engine/plugin.ts'
import { boundaryOf, partsIn } from '../formats/media/multipart.ts'

/** Bytes of the largest body that is compared by its content: a larger one is an upload, which must
 *  not be read into memory, and is compared by its length. */
const MAX_COMPARED = 64 * 1024 * 1024

/** Without a credential in the query. Two forms with the same parts are equal: clients choose a new
 *  boundary whenever they send a form. */
export const digestOf = async (request: Request): Promise<string> => {
  const query = new URLSearchParams(request.query)
  query.delete('key')
  const hash = createHash('sha256').update(`${request.method} ${request.path}?${query}\n`)
  const { 'content-length': length, 'content-type': type } = request.headers
  const boundary = boundaryOf(type)
  const isUpload = boundary !== undefined && !(Number(length) <= MAX_COMPARED)
  if (isUpload) hash.update(`upload of ${length ?? 'unknown'} bytes`)
  else {
    const bytes = await request.bytes()
    if (bytes.length >= LARGE) await largeTurn()
    addBody(hash, bytes, boundary)
  }
  return hash.digest('base64url')
}

const addBody = (hash: Hash, bytes: Bytes, boundary: string | undefined): void => {
  const parts = boundary === undefined ? undefined : partsIn(bytes, boundary)
  if (!parts) return void hash.update(bytes)
  for (const { start, end, ...head } of parts)
    hash
      .update(`${JSON.stringify({ ...head, length: end - start })}\n`)
      .update(bytes.subarray(start, end))
}
