/** What of a request is changed on its way to a target that speaks the client's format; all other bytes stay as they came. */
import type { Attempt, Bytes, Exchange, Json } from '../../engine/plugin.ts'
import type { Fields } from './fields.ts'
import { withMember } from './member.ts'
import { boundaryOf, partsIn } from './multipart.ts'
import { renamed } from './rename.ts'

/** The model by the target's own name. */
export const rename = async (
  request: Attempt['request'],
  exchange: Exchange,
  name: string,
): Promise<void> => {
  const bytes = request.body instanceof Uint8Array ? request.body : await exchange.request.bytes()
  const boundary = boundaryOf(exchange.request.headers['content-type'])
  request.body =
    boundary === undefined ? renamed(bytes, name) : renamedInForm(bytes, boundary, name)
  delete request.headers['content-length']
}

/** False where the body is not at hand as bytes. */
export const put = (
  request: Attempt['request'],
  body: Fields,
  [key, value]: readonly [key: string, value: Json],
): boolean => {
  if (!(request.body instanceof Uint8Array) || isForm(request)) return false
  request.body = withMember(request.body, body, key, value)
  delete request.headers['content-length']
  return true
}

/** Bytes of a form, which no member of JSON goes into. */
export const isForm = ({ headers }: Attempt['request']): boolean =>
  boundaryOf(String(headers['content-type'] ?? '')) !== undefined

const renamedInForm = (body: Bytes, boundary: string, name: string): Bytes => {
  const model = partsIn(body, boundary)?.find(part => part.name === 'model')
  if (!model) return body
  return Buffer.concat([body.subarray(0, model.start), Buffer.from(name), body.subarray(model.end)])
}
