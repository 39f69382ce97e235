/** Decodes and encodes whole chat answers, and maps finish reasons. */
import {
  type Fields,
  isFields,
  joinText,
  lenientObject,
  lenientObjects,
  lenientText,
  omitUndefined,
} from '../fields.ts'
import type { Answer, Choice } from '../hub/answer.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { EncodeContext } from '../hub/codec.ts'
import type { Citation, Content, Media, Text, Thought } from '../hub/content.ts'
import { parseDataUrl } from '../media/media.ts'
import { writeTextAndCalls } from './messages.ts'
import { readCallPayload, readContentList, readThoughts, writeThoughts } from './reasoning.ts'
import { reasonOf, refusalIn, stopOf } from './stops.ts'
import { TextLayout } from './text-layout.ts'
import { countsIn, countsOf, metersOf } from './usage.ts'

export { about } from './about.ts'

// ---------------------------------------------------------------- from an upstream

export const decodeAnswer = (body: Fields): Answer => {
  const { id, model, created, service_tier: tier } = body
  const counts = countsIn(body)
  return {
    ...(typeof id === 'string' && { id }),
    ...(typeof model === 'string' && { model }),
    ...(typeof created === 'number' && { created }),
    choices: lenientObjects(body, 'choices').map(readChoice),
    ...(counts && { meters: metersOf(counts) }),
    ...(typeof tier === 'string' && { tier }),
  }
}
const readChoice = (choice: Fields): Choice => {
  const message = lenientObject(choice, 'message')
  const calls = readCalls(message)
  const refusal = lenientText(message, 'refusal')
  return {
    content: [
      ...readThoughts(message),
      ...readTexts(message),
      ...readImages(message),
      ...(refusal ? [{ type: 'refusal' as const, text: refusal }] : []),
      ...calls,
    ],
    stop: stopOf(choice.finish_reason, calls.length > 0),
    ...(isFields(choice.logprobs) && { logprobs: choice.logprobs }),
  }
}
/** Texts, and the thoughts between them if the content is a list. Consecutive texts are one. */
const readTexts = (message: Fields): readonly (Text | Thought)[] => {
  const transcript = lenientText(lenientObject(message, 'audio'), 'transcript')
  const text = lenientText(message, 'content') ?? transcript ?? ''
  const parts: (Text | Thought)[] = text === '' ? [] : [{ type: 'text', text }]
  for (const part of readContentList(message)) {
    const last = parts.at(-1)
    if (last?.type === part.type) parts[parts.length - 1] = { ...last, text: last.text + part.text }
    else parts.push(part)
  }
  const citations = lenientObjects(message, 'annotations').flatMap(readCitation)
  const cited = parts.findLastIndex(({ type }) => type === 'text')
  return parts.map((part, index) =>
    index === cited && citations.length > 0 ? { ...part, citations } : part,
  )
}
export const readCitation = (annotation: Fields): readonly Citation[] => {
  const source = lenientObject(annotation, 'url_citation')
  const { start_index: start, end_index: end } = source
  const url = lenientText(source, 'url')
  const title = lenientText(source, 'title')
  if (url === undefined) return []
  return [
    {
      url,
      ...(title !== undefined && { title }),
      ...(typeof start === 'number' && { start }),
      ...(typeof end === 'number' && { end }),
    },
  ]
}
/** Generated images, which some upstreams send beside the text. */
export const readImages = (message: Fields): readonly Media[] =>
  lenientObjects(message, 'images').flatMap(image => {
    const url = lenientText(lenientObject(image, 'image_url'), 'url')
    if (url === undefined) return []
    return [{ type: 'media', kind: 'image', source: parseDataUrl(url) ?? { type: 'url', url } }]
  })
const readCalls = (message: Fields): readonly Content[] => {
  const functionCall = message.function_call
  const calls = lenientObjects(message, 'tool_calls').map(readCall)
  return isFields(functionCall)
    ? [...calls, readCall({ id: String(functionCall.name), function: functionCall }, 0)]
    : calls
}
const readCall = (call: Fields, index: number): Content => {
  const custom = call.custom
  const fields = isFields(custom) ? custom : lenientObject(call, 'function')
  const payload = readCallPayload(call)
  const text = lenientText(fields, 'arguments')
  return {
    type: 'call',
    id: decodeCallId(lenientText(call, 'id') || `call_${index}`),
    name: lenientText(fields, 'name') ?? '',
    // Some upstreams send the arguments as an object.
    input: isFields(custom)
      ? (lenientText(custom, 'input') ?? '')
      : text || JSON.stringify(fields.arguments || {}),
    ...(isFields(custom) && { isFreeText: true }),
    ...(payload && { payload }),
  }
}

// ---------------------------------------------------------------- to a client

export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const { choices, meters, created, tier } = answer
  const choicesOrRefusal =
    choices.length > 0 ? choices : [{ content: [], stop: { reason: 'filter' } as const }]
  return omitUndefined({
    id: answerId(context),
    object: 'chat.completion',
    created: created ?? context.now,
    model: context.model,
    choices: choicesOrRefusal.map(writeChoice),
    usage: meters && countsOf(meters),
    service_tier: tier !== undefined && KNOWN_TIERS.has(tier) ? tier : undefined,
  })
}
/** Other upstreams use further values, which the SDK's types do not include. */
const KNOWN_TIERS = new Set(['auto', 'default', 'flex', 'scale', 'priority'])
export const answerId = ({ id }: EncodeContext): string => joinText('chatcmpl-', id)

const writeChoice = ({ content, stop, logprobs }: Choice, index: number): Fields => {
  const thoughts = content.flatMap(thoughtsWithPayload)
  const { textAndCalls, annotations } = layOut(content)
  return {
    index,
    message: {
      role: 'assistant',
      ...writeTextAndCalls(textAndCalls, false),
      refusal: refusalIn(content, stop),
      ...(annotations.length > 0 && { annotations }),
      ...writeThoughts(thoughts),
    },
    logprobs: logprobs ?? null,
    finish_reason: reasonOf(stop),
  }
}
/** Images and programs become texts; citations refer to the whole text. */
const layOut = (
  content: readonly Content[],
): { readonly textAndCalls: readonly Content[]; readonly annotations: readonly Fields[] } => {
  const layout = new TextLayout()
  const annotations: Fields[] = []
  const textAndCalls = content.flatMap((each): readonly Content[] => {
    if (each.type !== 'text' && each.type !== 'media' && each.type !== 'hostedCall') return [each]
    const start = layout.length
    if (each.type === 'text') {
      const citations = each.citations ?? []
      annotations.push(...citations.flatMap(citation => writeCitation(citation, start)))
      return [{ type: 'text', text: layout.text(each.text) }]
    }
    const text = each.type === 'media' ? layout.media(each) : layout.program(each)
    return text === '' && each.type === 'hostedCall' ? [] : [{ type: 'text', text }]
  })
  return { textAndCalls, annotations }
}
/** `offset`: characters of the whole text before the cited one. */
export const writeCitation = (
  { url, title, start, end }: Citation,
  offset: number,
): readonly Fields[] => {
  if (url === undefined) return []
  const at = (index: number | undefined): number => (index === undefined ? 0 : offset + index)
  const source = { url, title: title ?? url, start_index: at(start), end_index: at(end) }
  return [{ type: 'url_citation', url_citation: source }]
}
/** A text has no field for a payload: an empty thought carries it. */
const thoughtsWithPayload = (content: Content): readonly Thought[] => {
  if (content.type === 'thought') return [content]
  return content.type === 'text' && content.payload
    ? [{ type: 'thought', text: '', payload: content.payload }]
    : []
}
