/** Decodes and encodes requests of the responses format. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Prompt, Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt, PROMPT } from '../../../helpers/formats/codec.ts'

const NAME = 'openai-responses'
const hi = { type: 'text', text: 'hi' } as const

export const decodeRequest = (members: object) =>
  decodePrompt(NAME, { model: 'm', input: 'hi', ...members } as Json)
export const turnsOf = (...input: readonly object[]): readonly Turn[] =>
  decodeRequest({ input }).prompt.turns
export const encodeRequest = (prompt: Partial<Prompt>, traits = {}) =>
  encodePrompt(NAME, { ...PROMPT, turns: [{ role: 'user', content: [hi] }], ...prompt }, { traits })
export const itemsOf = (...turns: readonly Turn[]): readonly Json[] =>
  encodeRequest({ turns }).body.input as never
