/** Replaces the model name in a JSON body in place; all other bytes stay as they are. */
import type { Bytes } from '../../engine/plugin.ts'
import { rewriteMember } from './json-member.ts'
import { FieldExtractor } from './stream/field-extractor.ts'

const MODEL_KEY = Buffer.from('model')

export const replaceModel = (body: Bytes, name: string): Bytes => {
  const extractor = new FieldExtractor(MODEL_KEY)
  extractor.push(body, true)
  const { span } = extractor
  // The key is spelt with escapes (`"mod\u0065l"`): valid JSON that no real client sends, so its
  // cost does not matter.
  if (!span) return rewriteMember(body, 'model', name)
  return Buffer.concat([body.subarray(0, span.start), encodeName(name), body.subarray(span.end)])
}
const encodeName = (name: string): Bytes => Buffer.from(JSON.stringify(name))
