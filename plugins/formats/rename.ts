/** Puts another name of the model into a request: the bytes of the old one are cut out, all others stay as they came. */
import type { Bytes } from '../../engine/plugin.ts'
import { rewritten } from './member.ts'
import { Skimmer } from './skim.ts'

const MODEL = Buffer.from('model')

export const renamed = (body: Bytes, name: string): Bytes => {
  const skimmer = new Skimmer(MODEL)
  skimmer.push(body, true)
  const { span } = skimmer
  // The key is spelt with escapes (`"mod\u0065l"`): valid JSON that no client writes, so it may cost what it costs.
  if (!span) return rewritten(body, 'model', name)
  return Buffer.concat([body.subarray(0, span.start), quoted(name), body.subarray(span.end)])
}
const quoted = (name: string): Bytes => Buffer.from(JSON.stringify(name))
