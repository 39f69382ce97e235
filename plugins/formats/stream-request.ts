/** Whether a request asks for a stream, in any format: routes without a format pass all of them. */
import type { Exchange } from '../../engine/plugin.ts'
import { isFields } from './fields.ts'
import { formats } from './index.ts'

type Request = Pick<Exchange['request'], 'parsed' | 'path'>

export const asksForStream = ({ parsed, path }: Request): boolean =>
  (isFields(parsed) && parsed.stream === true) || asksForStreamByPath(path)

/** Such a stream may be a single JSON text, sent in parts. */
export const asksForStreamByPath = (path: string): boolean => BY_PATH.some(asks => asks(path))
const BY_PATH = [...formats.values()].flatMap(({ streamsByPath }) => streamsByPath ?? [])
