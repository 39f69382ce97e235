/** Whether a request asks for a stream, in any format: routes without a format pass all of them.
 *  `format`: that of the route, which a plugin may have brought. */
import type { Exchange } from '../../engine/plugin.ts'
import { isFields } from './fields.ts'
import type { Format } from './format.ts'
import { formats } from './index.ts'

type Request = Pick<Exchange['request'], 'outlined' | 'path'>

export const asksForStream = ({ outlined, path }: Request, format?: Format): boolean =>
  (isFields(outlined) && outlined.stream === true) || asksForStreamByPath(path, format)

/** Such a stream may be a single JSON text, sent in parts. */
export const asksForStreamByPath = (path: string, format?: Format): boolean =>
  BY_PATH.some(asks => asks(path)) || format?.streamsByPath?.(path) === true
const BY_PATH = [...formats.values()].flatMap(({ streamsByPath }) => streamsByPath ?? [])
