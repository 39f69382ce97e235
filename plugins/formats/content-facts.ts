/** Which events of a stream carry content, and which whole answers are errors, in every format. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes } from '../../engine/plugin.ts'
import { isFields, parseJson } from './fields.ts'
import type { AnswerFacts, ContentFacts, ReportedError } from './format.ts'
import type { SseEvent } from './stream/sse.ts'

/** An event that reports an error has no content. */
export const carriesContent = (
  facts: Pick<ContentFacts, 'carriesContent' | 'error'>,
  event: SseEvent,
): boolean => facts.carriesContent?.(event) !== false && facts.error(event) === undefined

/** The error that a plain answer reports in place of content. A body is parsed only if it may be
 *  one. */
export const readFailure = (
  body: Bytes,
  { marks, failure }: AnswerFacts,
): ReportedError | 'unreadable' | undefined => {
  const buffer = asBuffer(body)
  if (!mayBeFailure(buffer, marks)) return undefined
  const value = parseJson(buffer.toString().replace(BYTE_ORDER_MARK, ''))
  // Google wraps errors of streams in an array.
  const fields = Array.isArray(value) ? value[0] : value
  return isFields(fields) ? failure(fields) : 'unreadable'
}
const mayBeFailure = (body: Buffer, marks: readonly string[]): boolean =>
  (marks.length > 0 && !marks.some(mark => body.includes(mark))) || hasError(body)

const BYTE_ORDER_MARK = /^\ufeff/
const ERROR = Buffer.from('"error"')
const NULL = /^\s*:\s*null/
/** Whether a member or a value is called `error`, and is not a member that is null. */
const hasError = (body: Buffer): boolean => {
  for (let at = body.indexOf(ERROR); at >= 0; at = body.indexOf(ERROR, at + 1)) {
    const end = at + ERROR.length
    if (!NULL.test(body.toString('latin1', end, end + 40))) return true
  }
  return false
}

const SPACE = 0x20
/** Whether there is more than white space. */
export const hasText = (body: Bytes): boolean => body.some(byte => byte > SPACE)
