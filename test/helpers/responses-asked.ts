/** Decodes and encodes requests of the responses format. */
import type { Json } from '../../engine/plugin.ts'
import type { Prompt, Turn } from '../../plugins/formats/hub.ts'
import { PROMPT, read, written } from './codec.ts'

const NAME = 'openai-responses'
const hi = { type: 'text', text: 'hi' } as const

export const asked = (members: object) =>
  read(NAME, { model: 'm', input: 'hi', ...members } as Json)
export const turnsOf = (...input: readonly object[]): readonly Turn[] =>
  asked({ input }).prompt.turns
export const sent = (prompt: Partial<Prompt>, traits = {}) =>
  written(NAME, { ...PROMPT, turns: [{ role: 'user', content: [hi] }], ...prompt }, { traits })
export const itemsOf = (...turns: readonly Turn[]): readonly Json[] =>
  sent({ turns }).body.input as never
