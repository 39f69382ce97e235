/** The text of prompts and answers, for plugins that read or change it. Pure. */
import type { Part } from './answer.ts'
import type { Content } from './content.ts'
import type { Prompt } from './prompt.ts'
import type { ChangePart } from './slots.ts'

/** All text of a prompt that a model reads, one line for each piece. */
export const textOfPrompt = (prompt: Prompt): string => {
  const lines: string[] = []
  mapPromptText(prompt, text => {
    lines.push(text)
    return text
  })
  return lines.join('\n')
}

/** The prompt with other text: in all turns, and in calls and results of tools. */
export const mapPromptText = (prompt: Prompt, map: (text: string) => string): Prompt => ({
  ...prompt,
  turns: prompt.turns.map(turn => ({
    ...turn,
    content: turn.content.map(content => mapContent(content, map)),
  })),
})
const mapContent = (content: Content, map: (text: string) => string): Content => {
  if (content.type === 'call') return { ...content, input: map(content.input) }
  if (content.type !== 'result') return 'text' in content ? mapText(content, map) : content
  // The value repeats the content for formats that carry objects.
  const { value: _, ...result } = content
  return {
    ...result,
    content: content.content.map(each => mapContent(each, map) as typeof each),
  }
}
const mapText = <T extends { readonly text: string }>(content: T, map: (text: string) => string) =>
  ({ ...content, text: map(content.text) }) as T

/** Replaces text in an answer, also where it lies in several parts: holds back the last characters
 *  of a block until more text or the end of the block arrives. `pattern`: a global expression that
 *  matches at most `longest` characters. `replacement` may be a function that throws a fault. */
export const changeText = (
  pattern: RegExp,
  longest: number,
  replacement: (match: string) => string,
): ChangePart => {
  const blocks = new Map<number, string>()
  const take = (index: number, isWhole: boolean): string => {
    const text = blocks.get(index) ?? ''
    const result = replaceIn(text, isWhole ? text.length : text.length - longest + 1, {
      pattern,
      replacement,
    })
    blocks.set(index, text.slice(result.end))
    return result.text
  }
  const finish = (index: number, out: (part: Part) => void): void => {
    const text = take(index, true)
    blocks.delete(index)
    if (text !== '') out({ type: 'grow', index, text })
  }
  return (part, out) => {
    if (part.type === 'begin') blocks.clear()
    if (part.type === 'open') {
      const text = growingText(part.content)
      if (text === undefined) return out(part)
      blocks.set(part.index, text)
      const start = take(part.index, false)
      return out({ ...part, content: withText(part.content, start) })
    }
    if (part.type === 'grow' && blocks.has(part.index)) {
      blocks.set(part.index, blocks.get(part.index) + part.text)
      const text = take(part.index, false)
      // Log probabilities repeat the text.
      if (text !== '') out({ type: 'grow', index: part.index, text })
      return
    }
    if (part.type === 'close') finish(part.index, out)
    if (part.type === 'stop' || part.type === 'end')
      for (const index of [...blocks.keys()]) finish(index, out)
    out(part)
  }
}
/** Undefined: its text never grows. */
const growingText = (content: Content): string | undefined => {
  if (content.type === 'call') return content.input
  return 'text' in content ? content.text : undefined
}
const withText = (content: Content, text: string): Content =>
  (content.type === 'call' ? { ...content, input: text } : { ...content, text }) as Content

/** Replaces the matches that begin before `end`. Returns the text up to the end of the last of
 *  them, and where that is. */
const replaceIn = (
  text: string,
  end: number,
  { pattern, replacement }: { pattern: RegExp; replacement: (match: string) => string },
): { readonly text: string; readonly end: number } => {
  let result = ''
  let at = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index >= end) break
    result += text.slice(at, match.index) + replacement(match[0])
    at = match.index + match[0].length
  }
  const stop = Math.max(at, end, 0)
  return { text: result + text.slice(at, stop), end: stop }
}
