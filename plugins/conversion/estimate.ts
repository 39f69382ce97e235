/** Tokens of what nobody counts, as the hub reads it: prompts, and contents by themselves. Pure. */
import type { Content } from '../formats/content.ts'
import type { Prompt } from '../formats/hub.ts'
import { BYTES_PER_TOKEN, MEDIA_TOKENS } from '../formats/prompt-tokens.ts'

/** What a turn takes beside its words. */
const TURN = 4

export const estimated = ({ turns, tools, form }: Prompt): number => {
  const said = turns.reduce((sum, { content }) => sum + TURN + tokensIn(content), 0)
  return said + (tools.length > 0 ? inText(tools) : 0) + (form ? inText(form) : 0)
}
export const tokensIn = (contents: readonly Content[]): number =>
  contents.reduce((sum, content) => sum + inOne(content), 0)
const inOne = (content: Content): number => {
  if (content.type === 'media') return MEDIA_TOKENS[content.kind] ?? 0
  if (content.type === 'result') return tokensIn(content.content)
  if ('text' in content) return inText(content.text)
  return inText(content)
}
const inText = (value: unknown): number =>
  Math.ceil(
    Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')) /
      BYTES_PER_TOKEN,
  )
