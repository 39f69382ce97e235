/** Encodes turns as messages. Tool results are messages of their own, directly after the call. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import { dropCache } from '../hub/cache-hint.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Content, Media, Result } from '../hub/content.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import type { Turn } from '../hub/prompt.ts'
import { dataUrl } from '../media/media.ts'

export const writeMessages = (
  turns: readonly Turn[],
  dropped: DroppedFields,
): readonly Fields[] => {
  const messages: Fields[] = []
  // Images that the model generated: this format accepts images in user messages only.
  let images: Fields[] = []
  for (const turn of turns) {
    if (turn.name !== undefined) dropped.add('name')
    if (turn.role === 'assistant') {
      messages.push(...writeAssistant(turn, dropped))
      images.push(...mediaIn(turn.content, dropped))
    } else {
      messages.push(...writeUserOrSystem(turn, turn.role === 'user' ? images : [], dropped))
      if (turn.role === 'user') images = []
    }
  }
  return images.length > 0 ? [...messages, { role: 'user', content: images as Json }] : messages
}

/** Results first; their images follow in the user's message. */
const writeUserOrSystem = (
  { role, content }: Turn,
  images: readonly Fields[],
  dropped: DroppedFields,
): readonly Fields[] => {
  const results = content.filter(each => each.type === 'result')
  const parts = [
    ...images,
    ...results.flatMap(result => mediaIn(result.content, dropped)),
    ...content.flatMap(each => writePart(each, dropped)),
  ]
  const messages = results.map(result => writeResult(result, dropped))
  return parts.length > 0 || content.length === 0
    ? [...messages, { role, content: textOrParts(parts) }]
    : messages
}
const textOrParts = (parts: readonly Fields[]): Json => {
  const [only] = parts
  if (!only) return ''
  return parts.length === 1 && only.type === 'text' ? (only.text ?? '') : (parts as Json)
}

const writeResult = (result: Result, dropped: DroppedFields): Fields => {
  const { id, content, value, hasFailed } = result
  dropCache(result.cache, dropped)
  for (const each of content) if (each.type === 'text') reportDropped(each, dropped)
  const texts = content.map(each => (each.type === 'text' ? each.text : `[${each.kind} below]`))
  const text =
    texts.length > 0 ? texts.join('\n') : value === undefined ? '' : JSON.stringify(value)
  return {
    role: 'tool',
    tool_call_id: encodeCallId(id, PORTABLE_ID),
    content: hasFailed ? `Error: ${text}` : text,
  }
}

/** Thoughts are not sent back: the model does not need those of earlier turns. */
const writeAssistant = ({ content }: Turn, dropped: DroppedFields): readonly Fields[] => {
  const texts: string[] = []
  const calls: Json[] = []
  for (const each of content) {
    if (each.type !== 'media') reportDropped(each, dropped)
    if (each.type === 'text' || each.type === 'refusal') texts.push(each.text)
    else if (each.type === 'hostedCall') texts.push(describeHostedCall(each, dropped)?.text ?? '')
    else if (each.type === 'call') {
      if (each.isFreeText) throw fault('TOOL_UNSUPPORTED', [each.name])
      const { id, name, input } = each
      calls.push({
        id: encodeCallId(id, PORTABLE_ID),
        type: 'function',
        function: { name, arguments: input || '{}' },
      })
    }
  }
  const text = texts.join('')
  if (text === '' && calls.length === 0) return []
  return [
    omitUndefined({
      role: 'assistant',
      content: text === '' ? undefined : text,
      tool_calls: calls.length > 0 ? calls : undefined,
    }),
  ]
}

/** A part of a user's or system message; none for what is elsewhere. */
const writePart = (content: Content, dropped: DroppedFields): readonly Fields[] => {
  if (content.type === 'result' || content.type === 'thought') return []
  const part = content.type === 'hostedCall' ? describeHostedCall(content, dropped) : content
  if (!part) return []
  if (part.type !== 'media') reportDropped(part, dropped)
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  if (part.type === 'media') return mediaIn([part], dropped)
  throw fault('CONTENT_UNSUPPORTED', ['messages', `a ${part.type}`])
}

/** Reports what no message of this format can express. */
const reportDropped = (content: Content, dropped: DroppedFields): void => {
  if ('cache' in content) dropCache(content.cache, dropped)
  if (content.type === 'text' && content.citations && content.citations.length > 0)
    dropped.add('citations')
  if (content.type !== 'media') return
  if (content.citationsEnabled) dropped.add('citations')
  if (content.name !== undefined) dropped.add('filename')
  if (content.context !== undefined) dropped.add('context')
  if (content.clip !== undefined) dropped.add('videoMetadata')
}

const mediaIn = (contents: readonly Content[], dropped: DroppedFields): readonly Fields[] =>
  contents.flatMap(each => (each.type === 'media' ? [writeMedia(each, dropped)] : []))

const writeMedia = (media: Media, dropped: DroppedFields): Fields => {
  const { kind, source, detail, at = 'messages' } = media
  reportDropped(media, dropped)
  if (source.type === 'text') return { type: 'text', text: source.text }
  if (kind !== 'image' || source.type === 'file')
    throw fault('CONTENT_UNSUPPORTED', [at, `a ${kind}`], { param: at })
  const url = source.type === 'url' ? source.url : dataUrl(source)
  return { type: 'image_url', image_url: omitUndefined({ url, detail }) }
}
