/** Tokens of what nobody counts, as the hub reads it: prompts, and contents by themselves. Pure. */
import type { Content } from '../formats/content.ts'
import type { Prompt } from '../formats/hub.ts'

/** Bytes of text to a token, and what a turn takes beside its words. */
const BYTES = 4
const TURN = 4
/** What providers count for media whose size nobody looks at: an image of medium size, a page, some seconds. */
const MEDIA: Readonly<Record<string, number>> = {
  ...{ image: 1_100, document: 1_600, audio: 320, video: 2_600 },
}

export const estimated = ({ turns, tools, form }: Prompt): number => {
  const said = turns.reduce((sum, { content }) => sum + TURN + tokensIn(content), 0)
  return said + (tools.length > 0 ? inText(tools) : 0) + (form ? inText(form) : 0)
}
export const tokensIn = (contents: readonly Content[]): number =>
  contents.reduce((sum, content) => sum + inOne(content), 0)
const inOne = (content: Content): number => {
  if (content.type === 'media') return MEDIA[content.kind] ?? 0
  if (content.type === 'result') return tokensIn(content.content)
  if ('text' in content) return inText(content.text)
  return inText(content)
}
const inText = (value: unknown): number =>
  Math.ceil(
    Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')) / BYTES,
  )
