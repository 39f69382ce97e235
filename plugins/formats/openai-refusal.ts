/** Decodes error replies of upstreams that use OpenAI's shape, and of proxies in front of them. */
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
