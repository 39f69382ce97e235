/** Encodes hub content as blocks for an upstream. Payloads of other providers are never sent. */
import type { Json } from '../../../engine/plugin.ts'
import { fitted, NARROW } from '../call-id.ts'
import type { Loss } from '../codec.ts'
import type { Call, Content, Media, Result, Text, Thought, Work } from '../content.ts'
import { type Fields, isFields, parsed } from '../fields.ts'
import { retold } from '../work.ts'
import { sealedBlock, writeCache } from './cache.ts'
import { ownCitation } from './citations.ts'
import { callerOf, REDACTED } from './content.ts'
import { writeMedia } from './media.ts'
import { calledName } from './names.ts'
import { OWN } from './read.ts'

type Writer<T extends Content> = (content: T, dropped: Loss) => readonly Fields[]
type Writers = { readonly [T in Content['type']]: Writer<Extract<Content, { readonly type: T }>> }

export const textBlock = (text: string): Fields => ({ type: 'text', text })

/** Omits an empty text, which the provider rejects. */
const writeText = (content: Text, dropped: Loss): readonly Fields[] => {
  const block = sealedBlock(content.payload)
  if (block) return [block]
  if (content.text === '') return []
  const { citations = [] } = content
  const ownCitations = citations.flatMap(each => ownCitation(each) ?? [])
  if (ownCitations.length < citations.length) dropped.drop('citations')
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
  if (payload?.origin !== OWN) return []
  if (payload.kind === REDACTED) return [{ type: 'redacted_thinking', data: payload.data }]
  return [{ type: 'thinking', thinking: text, signature: payload.data }]
}
const writeCall = (call: Call): readonly Fields[] => [
  {
    type: 'tool_use',
    id: fitted(call.id, NARROW),
    name: calledName(call),
    input: call.isFreeText ? { input: call.input } : argumentsOf(call.input),
    ...callerOf(call.payload),
    ...writeCache(call),
  },
]
/** Arguments must be an object here, whatever the model wrote. */
export const argumentsOf = (input: string): Fields => {
  if (input.trim() === '') return {}
  const value = parsed(input)
  if (value === undefined) return { input }
  return isFields(value) ? value : { input: value }
}
const writeResult = (result: Result, dropped: Loss): readonly Fields[] => {
  const { content, value, hasFailed } = result
  const contentBlocks = content.flatMap(each => writeResultPart(each, dropped))
  const useValue = contentBlocks.length === 0 && value !== undefined && value !== null
  const blocks = useValue ? [textBlock(asText(value))] : contentBlocks
  return [
    {
      type: 'tool_result',
      tool_use_id: fitted(result.id, NARROW),
      ...(blocks.length > 0 && { content: blocks }),
      ...(hasFailed && { is_error: true }),
      ...writeCache(result),
    },
  ]
}
const writeResultPart = (content: Text | Media, dropped: Loss): readonly Fields[] =>
  content.type === 'text' ? writeText(content, dropped) : writeShown(content, dropped)
const writeShown = (media: Media, dropped: Loss): readonly Fields[] => {
  const { kind, detail, name, clip } = media
  if (detail !== undefined && detail !== 'auto') dropped.drop('detail')
  if (kind !== 'document' && name !== undefined) dropped.drop('filename')
  if (clip !== undefined) dropped.drop('videoMetadata')
  return [writeMedia(media)]
}
const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** This provider's own blocks unchanged; another provider's hosted call as text. */
const writeWork = (work: Work, dropped: Loss): readonly Fields[] => {
  if (work.raw?.origin === OWN) return work.raw.items.filter(isFields)
  const text = retold(work, dropped)
  return text ? [textBlock(text.text)] : []
}

/** Content type -> encoder. */
const WRITERS: Writers = {
  text: writeText,
  refusal: ({ text }) => (text === '' ? [] : [textBlock(text)]),
  thought: writeThought,
  media: writeShown,
  call: writeCall,
  result: writeResult,
  hostedCall: writeWork,
}
export const writeBlock = (content: Content, dropped: Loss): readonly Fields[] =>
  (WRITERS[content.type] as Writer<Content>)(content, dropped)
