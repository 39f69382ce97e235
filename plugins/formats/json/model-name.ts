/** Replaces the model name in a JSON body in place; all other bytes stay unchanged. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import { FieldExtractor, type Span } from '../stream/field-extractor.ts'
import { rewriteMember } from './member.ts'

const MODEL_KEY = Buffer.from('model')
/** Bytes at the beginning and at the end of a body where clients write the model. */
const EDGE = 1_024

/** `body`: valid JSON. */
export const replaceModel = (body: Bytes, name: string): Bytes => {
  const span = spanOfModel(body)
  // The key is spelt with escapes (`"mod\u0065l"`): valid JSON that no real client sends, so its
  // cost does not matter.
  if (!span) return rewriteMember(body, 'model', name)
  return Buffer.concat([body.subarray(0, span.start), encodeName(name), body.subarray(span.end)])
}
const encodeName = (name: string): Bytes => Buffer.from(JSON.stringify(name))

/** Looks at both ends before it reads what is between them. */
const spanOfModel = (body: Bytes): Span | undefined => {
  const extractor = new FieldExtractor(MODEL_KEY)
  extractor.push(body.subarray(0, EDGE), true)
  if (extractor.span || body.length <= EDGE) return extractor.span
  const last = spanAtEnd(body)
  if (last) return last
  extractor.push(body.subarray(EDGE), true)
  return extractor.span
}
/** The model where only texts, numbers and literals follow it: one bracket is closed behind them,
 *  so they are members of the outermost object. In valid JSON no string ends before `model"`. */
const spanAtEnd = (body: Bytes): Span | undefined => {
  const offset = Math.max(0, body.length - EDGE)
  const text = asBuffer(body).toString('latin1', offset)
  const at = text.lastIndexOf('"model"')
  if (at < 1 || text[at - 1] === '\\') return undefined
  const [, [start, end] = []] = LAST_MEMBERS.exec(text.slice(at))?.indices ?? []
  if (start === undefined || end === undefined) return undefined
  return { start: offset + at + start, end: offset + at + end }
}
const LAST_MEMBERS =
  /^"model"\s*:\s*("(?:[^"\\]|\\.)*"\s*)(?:,\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)\s*)*\}\s*$/d
