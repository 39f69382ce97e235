/** Decodes error replies of upstreams that use OpenAI's shape, and of proxies in front of them. */
import type { Json } from '../../engine/plugin.ts'
import { isFields, lenientObject, lenientText } from './fields.ts'
import type { UpstreamError } from './hub/codec.ts'

export const decodeErrorReply = (status: number, body: Json | undefined): UpstreamError => {
  const fields = isFields(body) ? body : {}
  const error = isFields(fields.error) ? fields.error : fields
  const message =
    lenientText(error, 'message') ?? lenientText(fields, 'error') ?? lenientText(fields, 'detail')
  const [type, code, param] = [
    lenientText(error, 'type'),
    lenientText(error, 'code'),
    lenientText(error, 'param'),
  ]
  return {
    status,
    message:
      message ??
      lenientText(lenientObject(fields, 'detail'), 'message') ??
      `The upstream answered ${status}.`,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
  }
}
