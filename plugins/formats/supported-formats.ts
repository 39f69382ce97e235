/** The wire formats that a target supports: those of its model, or else those of its upstream. */
import type { Json, Target, UpstreamView } from '../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from './fields.ts'

/** An empty list: the target accepts any format. */
export const supportedFormats = (
  { traits }: Pick<Target, 'traits'>,
  upstream: UpstreamView | undefined,
): readonly string[] => listOf(traits?.formats) ?? listOf(upstream?.options.formats) ?? []

export const supportsFormat = (formatNames: readonly string[], format: string): boolean =>
  formatNames.length === 0 || formatNames.includes(format)

const listOf = (value: Json | undefined): readonly string[] | undefined =>
  Array.isArray(value) ? (value as readonly string[]) : undefined

/** The formats of an upstream in the order in which a request is translated to them. Of OpenAI's
 *  two, Responses carries more of what clients of Anthropic and Google send: thoughts between the
 *  steps of an agent, media in tool results, documents by URL, hosted tools. Chat alone has some
 *  settings. */
export const translationOrder = (
  formatNames: readonly string[],
  body: Json | undefined,
  traits: Target['traits'],
): readonly string[] => {
  const isBoth = [CHAT, RESPONSES].every(name => formatNames.includes(name))
  if (!isBoth || !isFields(body)) return formatNames
  const first = needsChat(body, traits?.sampling !== false) ? CHAT : RESPONSES
  return [first, ...formatNames.filter(name => name !== first)]
}
const CHAT = 'openai-chat'
const RESPONSES = 'openai-responses'
/** Settings that only chat has, in the formats of Anthropic and Google, with values that ask for
 *  nothing. */
const CHAT_SETTINGS: Readonly<Record<string, readonly Json[]>> = {
  stop_sequences: [],
  stopSequences: [],
  seed: [],
  frequencyPenalty: [0],
  presencePenalty: [0],
  candidateCount: [1],
}
/** `hasSettings`: the model takes such settings. */
const needsChat = (body: Fields, hasSettings: boolean): boolean => {
  const config = lenientObject(body, 'generationConfig')
  const asks = (fields: Fields): boolean =>
    Object.entries(CHAT_SETTINGS).some(([name, neutral]) => {
      const value = fields[name] ?? null
      const isEmpty = Array.isArray(value) && value.length === 0
      return value !== null && !isEmpty && !neutral.includes(value)
    })
  return (hasSettings && (asks(body) || asks(config))) || hasAudio(body, config)
}
const hasAudio = (body: Fields, { responseModalities: kinds }: Fields): boolean =>
  (Array.isArray(kinds) && kinds.some(kind => /^audio$/i.test(String(kind)))) ||
  lenientObjects(body, 'contents').some(content =>
    lenientObjects(content, 'parts').some(part =>
      /^audio\//i.test(lenientText(lenientObject(part, 'inlineData'), 'mimeType') ?? ''),
    ),
  )
