/** A refusal of an upstream that writes its errors as OpenAI does, or as whoever stands before it does. */
import type { Json } from '../../engine/plugin.ts'
import type { Refused } from './codec.ts'
import { inner, isFields, wordIn } from './fields.ts'

export const decodeError = (status: number, body: Json | undefined): Refused => {
  const fields = isFields(body) ? body : {}
  const error = isFields(fields.error) ? fields.error : fields
  const message = wordIn(error, 'message') ?? wordIn(fields, 'error') ?? wordIn(fields, 'detail')
  const [type, code, param] = [wordIn(error, 'type'), wordIn(error, 'code'), wordIn(error, 'param')]
  return {
    status,
    message:
      message ?? wordIn(inner(fields, 'detail'), 'message') ?? `The upstream answered ${status}.`,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
  }
}
