/** What of a request is changed on its way to a target that speaks the client's format; all other bytes stay as they came. */
import type { Attempt, Exchange, Json } from '../../engine/plugin.ts'
import type { Fields } from './format.ts'
import { withMember } from './member.ts'
import { renamed } from './rename.ts'

/** The model by the target's own name. */
export const rename = async (
  request: Attempt['request'],
  exchange: Exchange,
  name: string,
): Promise<void> => {
  const bytes = request.body instanceof Uint8Array ? request.body : await exchange.request.bytes()
  request.body = renamed(bytes, name)
  delete request.headers['content-length']
}

/** False where the body is not at hand as bytes. */
export const put = (
  request: Attempt['request'],
  body: Fields,
  [key, value]: readonly [key: string, value: Json],
): boolean => {
  if (!(request.body instanceof Uint8Array)) return false
  request.body = withMember(request.body, body, key, value)
  delete request.headers['content-length']
  return true
}
