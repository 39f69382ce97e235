/** Edits of a request to a target of the client's own format; all other bytes stay unchanged. */
import { asBuffer, hasCutText } from '../../engine/kit.ts'
import type { Attempt, Bytes, Exchange, Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from './fields.ts'
import type { Format } from './format.ts'
import type { TargetFacts } from './hub/codec.ts'
import { setMember } from './json/member.ts'
import { replaceModel } from './json/model-name.ts'
import { hasRefusedNull, withoutNulls } from './json/null-members.ts'
import { boundaryOf, partsIn } from './media/multipart.ts'

/** Replaces the model by the target's name for it. */
export const renameModel = async (
  request: Attempt['request'],
  exchange: Exchange,
  name: string,
): Promise<void> => {
  const bytes = request.body instanceof Uint8Array ? request.body : await exchange.request.bytes()
  const boundary = boundaryOf(exchange.request.headers['content-type'])
  request.body =
    boundary === undefined ? replaceModel(bytes, name) : renameInForm(bytes, boundary, name)
  delete request.headers['content-length']
}

/** A member made of the client's body: of its outline, unless a text of the member is cut there. */
export const memberOf = (
  request: Pick<Exchange['request'], 'outlined' | 'parsed'>,
  make: (body: Fields) => Member | undefined,
): Member | undefined => {
  const makeOf = (body: Json | undefined) => (isFields(body) ? make(body) : undefined)
  const member = makeOf(request.outlined)
  return member && hasCutText(member[1]) ? makeOf(request.parsed) : member
}
type Member = readonly [key: string, value: Json]

/** Sets a member of a JSON body. Returns false if the body is a form or not in memory. */
export const setBodyMember = (
  request: Attempt['request'],
  body: Fields,
  [key, value]: Member,
): boolean => {
  if (!(request.body instanceof Uint8Array) || isFormBody(request)) return false
  request.body = setMember(request.body, body, key, value)
  delete request.headers['content-length']
  return true
}

/** Repairs the history of a request for its target. `body`: the body that is sent. */
export const repairHistory = (
  { repairHistory: repair }: Pick<Format, 'repairHistory'>,
  request: Attempt['request'],
  body: Json | undefined,
  target: TargetFacts,
): void => {
  const { body: bytes } = request
  if (!repair || !isFields(body) || !(bytes instanceof Uint8Array)) return
  if (repair(body, target).length === 0) return
  // The bytes may hold members that the client did not send.
  const current = JSON.parse(asBuffer(bytes).toString()) as Fields
  for (const member of repair(current, target)) setBodyMember(request, current, member)
}

/** Leaves null members out that the provider of this format refuses. `body`: the one that is sent,
 *  or its outline; a walk over it costs a part of a search in the bytes. */
export const omitNulls = (
  { nulls }: Pick<Format, 'nulls'>,
  request: Attempt['request'],
  body: Json | undefined,
): void => {
  if (!nulls || !(request.body instanceof Uint8Array) || isFormBody(request)) return
  if (body !== undefined && !hasRefusedNull(body, nulls)) return
  const bytes = withoutNulls(request.body, nulls)
  if (bytes === request.body) return
  request.body = bytes
  delete request.headers['content-length']
}

/** Whether the body is a form, which has no JSON members. */
export const isFormBody = ({ headers }: Attempt['request']): boolean =>
  boundaryOf(String(headers['content-type'] ?? '')) !== undefined

const renameInForm = (body: Bytes, boundary: string, name: string): Bytes => {
  const parts = partsIn(body, boundary)
  if (!parts) return body
  const model = parts.find(part => part.name === 'model')
  if (model)
    return Buffer.concat([
      body.subarray(0, model.start),
      Buffer.from(name),
      body.subarray(model.end),
    ])
  // In front of the first part, after a preamble.
  const first = asBuffer(body).indexOf(`--${boundary}`)
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\n`
  const part = Buffer.from(`${head}${name}\r\n`)
  return Buffer.concat([body.subarray(0, first), part, body.subarray(first)])
}
