/** Short constructors for prompts of the hub and requests of generateContent. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import type { Prompt, Tool, Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt, PROMPT } from '../../../helpers/formats/codec.ts'

const NAME = 'google-gemini'
export const HI = [{ role: 'user', parts: [{ text: 'hi' }] }]
export const decodeRequest = (more: { readonly [key: string]: Json }) =>
  decodePrompt(NAME, { contents: HI, ...more })
export const prompt = (turns: readonly Turn[], more: Partial<Prompt> = {}): Prompt => ({
  ...PROMPT,
  stream: false,
  turns,
  ...more,
})
export const user = (...content: Content[]): Turn => ({ role: 'user', content })
export const assistant = (...content: Content[]): Turn => ({ role: 'assistant', content })
export const text = (words: string): Content => ({ type: 'text', text: words })
export const call = (id: string, more: object = {}): Content => ({
  type: 'call',
  id,
  name: `f_${id}`,
  input: '{"a":1}',
  ...more,
})
export const result = (
  id: string,
  ...content: Extract<Content, { type: 'result' }>['content']
): Content => ({
  type: 'result',
  id,
  content,
})
export const encodeRequest = (
  prompt: Prompt,
  traits: { readonly [key: string]: Json } = {},
  output?: number,
) => encodePrompt(NAME, prompt, { traits, ...(output !== undefined && { maxOutput: output }) })
export const contentsOf = (turns: readonly Turn[], traits = {}): Json =>
  (encodeRequest(prompt(turns), traits).body as Fields).contents as Json
export const withTools = (tools: readonly Tool[], more: Partial<Prompt> = {}, traits = {}) =>
  encodeRequest(prompt([user(text('x'))], { tools, ...more }), traits)
export const image: Content = {
  type: 'media',
  kind: 'image',
  source: { type: 'data', data: 'AAAA', mime: 'image/png' },
}
