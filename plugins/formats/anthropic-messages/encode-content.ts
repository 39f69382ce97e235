/** Encodes hub content as blocks for an upstream. Payloads of other providers are never sent. */
import type { Json } from '../../../engine/plugin.ts'
import { argumentsOf, type Fields, isFields } from '../fields.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Call, Content, HostedCall, Media, Result, Text, Thought } from '../hub/content.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import { ownCitation } from './answer/citations.ts'
import { blockInPayload, writeCache } from './cache.ts'
import { callerFields, REDACTED_KIND } from './decode-content.ts'
import { writeMedia } from './media.ts'
import { NAME } from './members.ts'
import { callName } from './names.ts'

type Writer<T extends Content> = (content: T, dropped: DroppedFields) => readonly Fields[]
type Writers = { readonly [T in Content['type']]: Writer<Extract<Content, { readonly type: T }>> }

export const textBlock = (text: string): Fields => ({ type: 'text', text })

/** Omits a text of white space alone, which the provider rejects. */
const writeText = (content: Text, dropped: DroppedFields): readonly Fields[] => {
  const block = blockInPayload(content.payload)
  if (block) return [block]
  if (content.text.trim() === '') return []
  const { citations = [] } = content
  const ownCitations = citations.flatMap(each => ownCitation(each) ?? [])
  if (ownCitations.length < citations.length) dropped.add('citations')
  return [
    {
      ...textBlock(content.text),
      ...(ownCitations.length > 0 && { citations: ownCitations }),
      ...writeCache(content),
    },
  ]
}
/** Omits thoughts of other providers. */
const writeThought = ({ text, payload }: Thought): readonly Fields[] => {
  if (payload?.origin !== NAME) return []
  if (payload.kind === REDACTED_KIND) return [{ type: 'redacted_thinking', data: payload.data }]
  return [{ type: 'thinking', thinking: text, signature: payload.data }]
}
const writeCall = (call: Call): readonly Fields[] => [
  {
    type: 'tool_use',
    id: encodeCallId(call.id, PORTABLE_ID),
    name: callName(call),
    input: call.isFreeText ? { input: call.input } : argumentsOf(call.input),
    ...callerFields(call.payload),
    ...writeCache(call),
  },
]
const writeResult = (result: Result, dropped: DroppedFields): readonly Fields[] => {
  const { content, value, hasFailed } = result
  const contentBlocks = content.flatMap(each => writeResultPart(each, dropped))
  const useValue = contentBlocks.length === 0 && value !== undefined && value !== null
  const whole = useValue ? [textBlock(asText(value))] : contentBlocks
  // The provider takes only texts in a result that failed: its media follow it.
  const [blocks, behind] = hasFailed
    ? [whole.filter(isText), whole.filter(each => !isText(each))]
    : [whole, []]
  return [
    {
      type: 'tool_result',
      tool_use_id: encodeCallId(result.id, PORTABLE_ID),
      ...(blocks.length > 0 && { content: blocks }),
      ...(hasFailed && { is_error: true }),
      ...writeCache(result),
    },
    ...behind,
  ]
}
const isText = ({ type }: Fields): boolean => type === 'text'
const writeResultPart = (content: Text | Media, dropped: DroppedFields): readonly Fields[] =>
  content.type === 'text' ? writeText(content, dropped) : writeMediaBlock(content, dropped)
const writeMediaBlock = (media: Media, dropped: DroppedFields): readonly Fields[] => {
  const { kind, detail, name, clip } = media
  if (detail !== undefined && detail !== 'auto') dropped.add('detail')
  if (kind !== 'document' && name !== undefined) dropped.add('filename')
  if (clip !== undefined) dropped.add('videoMetadata')
  return [writeMedia(media)]
}
const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** This provider's own blocks unchanged; another provider's hosted call as text. */
const writeHostedCall = (call: HostedCall, dropped: DroppedFields): readonly Fields[] => {
  if (call.raw?.origin === NAME) return call.raw.items.filter(isFields)
  const text = describeHostedCall(call, dropped)
  return text ? [textBlock(text.text)] : []
}

/** Content type -> encoder. */
const WRITERS: Writers = {
  text: writeText,
  refusal: ({ text }) => (text.trim() === '' ? [] : [textBlock(text)]),
  thought: writeThought,
  media: writeMediaBlock,
  call: writeCall,
  result: writeResult,
  hostedCall: writeHostedCall,
}
export const writeBlock = (content: Content, dropped: DroppedFields): readonly Fields[] =>
  (WRITERS[content.type] as Writer<Content>)(content, dropped)
