/** Estimates the tokens of hub prompts and contents that no upstream counts. Pure. */
import type { Content } from '../formats/hub/content.ts'
import type { Prompt, Tool } from '../formats/hub/prompt.ts'
import { BYTES_PER_TOKEN, MEDIA_TOKENS } from '../formats/prompt-tokens.ts'

/** Tokens that a turn adds to its content. */
const TOKENS_PER_TURN = 4

export const estimatePromptTokens = ({ turns, tools, form }: Prompt): number => {
  const turnTokens = turns.reduce(
    (sum, { content }) => sum + TOKENS_PER_TURN + estimateContentTokens(content),
    0,
  )
  const toolTokens = tools.length > 0 ? estimateText(tools.map(declarationOf)) : 0
  return turnTokens + toolTokens + (form ? estimateText(form) : 0)
}
/** The part of a tool that a model reads: neither its path in the request nor its declaration for
 *  one provider. */
const declarationOf = (tool: Tool): object => ({
  ...tool,
  at: undefined,
  native: undefined,
  namespace: undefined,
})
export const estimateContentTokens = (contents: readonly Content[]): number =>
  contents.reduce((sum, content) => sum + estimateOne(content), 0)
const estimateOne = (content: Content): number => {
  if (content.type === 'media') return MEDIA_TOKENS[content.kind] ?? 0
  if (content.type === 'result') return estimateContentTokens(content.content)
  if ('text' in content) return estimateText(content.text)
  return estimateText(content)
}
const estimateText = (value: unknown): number =>
  Math.ceil(
    Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')) /
      BYTES_PER_TOKEN,
  )
