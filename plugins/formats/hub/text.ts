/** The text of prompts and answers, for plugins that read or change it. Pure. */
import { isUtf8 } from 'node:buffer'
import { parseJson } from '../fields.ts'
import type { Part } from './answer.ts'
import type { Call, Content, Media, Source } from './content.ts'
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
const mapContent = (content: Content, map: MapText): Content => {
  if (content.type === 'call') return { ...content, input: mapInput(content, map) }
  if (content.type === 'media') return mapMedia(content, map)
  if (content.type !== 'result') return 'text' in content ? mapText(content, map) : content
  // The value repeats the content for formats that carry objects.
  const { value: _, ...result } = content
  return {
    ...result,
    content: content.content.map(each => mapContent(each, map) as typeof each),
  }
}
type MapText = (text: string) => string
const mapText = <T extends { readonly text: string }>(content: T, map: MapText) =>
  ({ ...content, text: map(content.text) }) as T
/** Documents that are text. */
const mapMedia = (content: Media, map: MapText): Media => ({
  ...content,
  ...(content.context !== undefined && { context: map(content.context) }),
  source: mapSource(content, map),
  ...(content.parts && { parts: content.parts.map(each => mapContent(each, map) as typeof each) }),
})

const mapSource = ({ kind, source }: Media, map: MapText): Source => {
  if (source.type === 'text') return mapText(source, map)
  if (source.type !== 'data' || kind !== 'document') return source
  const bytes = Buffer.from(source.data, 'base64')
  // Whatever type the client claims; a PDF file has offsets that must stay.
  if (!isUtf8(bytes) || bytes.includes(PDF)) return source
  const text = bytes.toString()
  const mapped = map(text)
  return mapped === text ? source : { ...source, data: Buffer.from(mapped).toString('base64') }
}
const PDF = '%PDF-'

/** The input of a call: names, texts and numbers of its JSON one by one as they are written, so
 *  that neither escapes, quotes, repeated names nor long numbers hide or break anything. */
export const mapInput = (
  { input, isFreeText }: Pick<Call, 'input' | 'isFreeText'>,
  map: MapText,
): string => {
  if (isFreeText) return map(input)
  const mapped = mapTokens(input, map)
  // A call that the model cut has text that is in no token.
  return isJson(input) ? mapped : map(mapped)
}
const isJson = (text: string): boolean => parseJson(text) !== undefined
const mapTokens = (json: string, map: MapText): string => {
  const start = /"|-?[0-9][-+.0-9Ee]*/g
  let result = ''
  let at = 0
  for (let token = start.exec(json); token; token = start.exec(json)) {
    const end = token[0] === '"' ? endOfText(json, token.index) : start.lastIndex
    result += json.slice(at, token.index) + mapToken(json.slice(token.index, end), map)
    at = end
    start.lastIndex = end
  }
  return result + json.slice(at)
}
/** The end of the text that begins with a quote at `start`. */
const endOfText = (json: string, start: number): number => {
  let end = start + 1
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1
  return Math.min(end + 1, json.length)
}
const mapToken = (token: string, map: MapText): string => {
  const isNumber = !token.startsWith('"')
  const isCut = !isNumber && !isJson(token)
  const whole = isCut ? `${token}"` : token
  if (!isJson(whole)) return token
  const value: string | number = JSON.parse(whole)
  for (const text of new Set(isNumber ? [token, String(value)] : [String(value)])) {
    const mapped = map(text)
    if (mapped !== text) return JSON.stringify(mapped).slice(0, isCut ? -1 : undefined)
  }
  return token
}

/** From `start` up to, not including, `end`. `label`: what it is. */
export interface TextMatch {
  readonly start: number
  readonly end: number
  readonly label?: string
}
export interface TextFinder {
  /** Matches in order, without overlaps. */
  find(text: string): readonly TextMatch[]
  /** The first position at which a match may begin that further text completes or lengthens. */
  openFrom(text: string): number
}
/** May throw a fault. */
export type Replace = (text: string, match: TextMatch) => string

export const replaceMatches = (
  text: string,
  finder: Pick<TextFinder, 'find'>,
  replace: Replace,
): string => {
  const matches = finder.find(text)
  if (matches.length === 0) return text
  let result = ''
  let at = 0
  for (const match of matches) {
    result += text.slice(at, match.start) + replace(text.slice(match.start, match.end), match)
    at = match.end
  }
  return result + text.slice(at)
}

// ---------------------------------------------------------------- the start of a match

/** The end of the text, in a mode with and without `m`. */
const END = '(?![\\s\\S])'
/** One element of an expression: an escape, a class, the opening of a group, a quantifier, or a
 *  character. */
const ELEMENT =
  /\\(?:u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|c[A-Za-z]|k<[^>]*>|[pP]\{[^}]*\}|\d+|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?:<?[=!]|<[^>]*>|[a-z-]*:))?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|[\uD800-\uDBFF][\uDC00-\uDFFF]|[\s\S]/g

/** `pattern`: without the flag `v`. Each element may be missing at the end of the text; of an
 *  assertion that denies or looks back nothing may. */
const startPattern = (pattern: RegExp): RegExp => {
  /** For each open group, whether its elements may be missing. */
  const groups: boolean[] = []
  let isFixed = false
  const source = pattern.source.replace(ELEMENT, element => {
    if (element.startsWith('(')) {
      groups.push(isFixed)
      isFixed ||= /^\(\?(?:!|<[=!])/.test(element)
      return element
    }
    if (element === ')') {
      const wasFixed = isFixed
      isFixed = groups.pop() ?? false
      return wasFixed ? ')' : `|${END})`
    }
    const isPlain = isFixed || /^(?:[|^$]|[*+?{].*)$/s.test(element)
    return isPlain && element !== '{' ? element : `(?:${element}|${END})`
  })
  const flags = pattern.flags.replace(/[gy]/g, '')
  return new RegExp(`(?:${source})${END}`, `${flags}y`)
}

/** The first position from `from` on at which a match may begin that more text completes. Half of a
 *  character waits for its other half. */
const firstStart = (pattern: RegExp, text: string, from: number): number => {
  const whole = text.replace(/[\uD800-\uDBFF]$/, '')
  for (let at = from; at < whole.length; at++) {
    pattern.lastIndex = at
    if (pattern.exec(whole)?.[0]) return at
  }
  return whole.length
}

/** Replaces text in an answer, also if it lies in several parts: holds back what may be the
 *  start of a match until more text or the end of the block arrives. `pattern`: a global expression
 *  without the flag `v` that matches at most `longest` characters. `replacement` may be a function
 *  that throws a fault. */
export const changeText = (
  pattern: RegExp,
  longest: number,
  replacement: (match: string) => string,
): ChangePart => {
  const start = startPattern(pattern)
  return changeMatches(
    {
      find: text =>
        [...text.matchAll(pattern)].map(({ 0: match, index }) => ({
          start: index,
          end: index + match.length,
        })),
      openFrom: text => firstStart(start, text, Math.max(0, text.length - longest + 1)),
    },
    replacement,
  )
}

/** A block whose text grows. `text` begins with up to one character that was sent already, by which
 *  finders see where words begin; `call`: its whole input is held back until it ends. */
interface GrowingBlock {
  text: string
  leading: number
  readonly call?: Call
}
/** As `changeText`. The input of a call waits until it is complete. */
export const changeMatches = (finder: TextFinder, replace: Replace): ChangePart => {
  const blocks = new Map<number, GrowingBlock>()
  const finish = (index: number, out: (part: Part) => void): void => {
    const block = blocks.get(index)
    if (!block) return
    blocks.delete(index)
    const map = (text: string) => replaceMatches(text, finder, replace)
    const text = block.call
      ? mapInput({ ...block.call, input: block.text }, map)
      : takeText(block, { finder, replace }, true)
    if (text !== '') out({ type: 'grow', index, text })
  }
  return (part, out) => {
    if (part.type === 'begin') blocks.clear()
    if (part.type === 'open') {
      const { content, index } = part
      if (content.type === 'call') {
        blocks.set(index, { text: content.input, leading: 0, call: content })
        return out({ ...part, content: { ...content, input: '' } })
      }
      if (!('text' in content)) return out(part)
      const block = { text: content.text, leading: 0 }
      blocks.set(index, block)
      return out({
        ...part,
        content: { ...content, text: takeText(block, { finder, replace }, false) },
      })
    }
    const block = part.type === 'grow' ? blocks.get(part.index) : undefined
    if (part.type === 'grow' && block) {
      block.text += part.text
      if (block.call) return
      const text = takeText(block, { finder, replace }, false)
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

/** Takes the text that no further text can change, with its matches replaced. */
const takeText = (
  block: GrowingBlock,
  { finder, replace }: { readonly finder: TextFinder; readonly replace: Replace },
  isWhole: boolean,
): string => {
  const { text } = block
  const open = isWhole ? text.length : Math.max(block.leading, finder.openFrom(text))
  let result = ''
  let at = block.leading
  for (const match of finder.find(text)) {
    if (match.start >= open) break
    if (match.start < at) continue
    result += text.slice(at, match.start) + replace(text.slice(match.start, match.end), match)
    at = match.end
  }
  const stop = Math.max(at, open)
  result += text.slice(at, stop)
  block.leading = Math.min(1, stop)
  block.text = text.slice(stop - block.leading)
  return result
}
