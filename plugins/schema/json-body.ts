/** Which bodies of requests are JSON. */
import { MIMEType } from 'node:util'
import { errors } from '../../engine/errors.ts'
import type { Exchange } from '../../engine/plugin.ts'

const fault = errors({
  CONTENT_TYPE: [
    415,
    'Unsupported Content-Type %s: this endpoint accepts application/json.',
    { headers: { 'accept-post': 'application/json' } },
  ],
})

/** Throws CONTENT_TYPE. A missing type counts as JSON: curl and many scripts send none. A body that
 *  `form` parsed needs no check. */
export const refuseOtherTypes = ({ headers, outlined }: Exchange['request']): void => {
  const type = headers['content-type']
  if (outlined === undefined && type !== undefined && type !== 'application/json' && !isJson(type))
    throw fault('CONTENT_TYPE', [JSON.stringify(type.slice(0, 64))])
}

/** Accepts every spelling of the type, with parameters. JSON is UTF-8 (RFC 8259 §8.1): no other
 *  charset is valid. */
const isJson = (type: string): boolean => {
  try {
    const { essence, params } = new MIMEType(type)
    return essence === 'application/json' && /^(utf-?8)?$/i.test(params.get('charset') ?? '')
  } catch {
    return false
  }
}
