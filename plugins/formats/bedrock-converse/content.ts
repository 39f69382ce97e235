/** Encodes hub content as blocks. Payloads of other providers are never sent. */
import { argumentsOf, type Fields, isFields } from '../fields.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Cache, Call, Content, Result, Text, Thought } from '../hub/content.ts'
import { describeHostedCall } from '../hub/hosted-call-text.ts'
import { writeCachePoint } from './cache.ts'
import { type DocumentNames, writeMedia } from './media.ts'
import { encodeToolName, NAME } from './name.ts'

/** The kind of a payload that is a thought which the provider encrypted as a whole. */
export const REDACTED = 'redacted'

export interface BlockContext {
  readonly target: TargetFacts
  readonly names: DocumentNames
  readonly dropped: DroppedFields
}
type Writer<T extends Content> = (content: T, context: BlockContext) => readonly Fields[]
type Writers = { readonly [T in Content['type']]: Writer<Extract<Content, { readonly type: T }>> }

/** The provider refuses texts of white space alone. */
const textBlocks = (text: string): readonly Fields[] => (text.trim() === '' ? [] : [{ text }])
const writeText = ({ text, citations = [] }: Text, { dropped }: BlockContext) => {
  if (citations.length > 0) dropped.add('citations')
  return textBlocks(text)
}
/** Thoughts without a signature are not sent back. */
const writeThought = ({ text, payload }: Thought): readonly Fields[] => {
  if (payload?.origin !== NAME) return []
  if (payload.kind === REDACTED) return [{ reasoningContent: { redactedContent: payload.data } }]
  return [{ reasoningContent: { reasoningText: { text, signature: payload.data } } }]
}
const writeCall = (call: Call): readonly Fields[] => [
  {
    toolUse: {
      toolUseId: encodeCallId(call.id, PORTABLE_ID),
      name: encodeToolName(call),
      input: call.isFreeText ? { input: call.input } : argumentsOf(call.input),
    },
  },
]
const writeResult = (
  { id, content, value, hasFailed }: Result,
  context: BlockContext,
): readonly Fields[] => [
  {
    toolResult: {
      toolUseId: encodeCallId(id, PORTABLE_ID),
      content:
        content.length > 0 || value === undefined || value === null
          ? content.flatMap(each => writeBlock(each, context))
          : [isFields(value) ? { json: value } : { text: textOf(value) }],
      ...(hasFailed && { status: 'error' }),
    },
  },
]
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** Content type -> encoder. */
const WRITERS: Writers = {
  text: writeText,
  refusal: ({ text }) => textBlocks(text),
  thought: writeThought,
  media: (media, { names, dropped }) => [writeMedia(media, names, dropped)],
  call: writeCall,
  result: writeResult,
  hostedCall: (call, { dropped }) => textBlocks(describeHostedCall(call, dropped)?.text ?? ''),
}
const writeBlock = (content: Content, context: BlockContext): readonly Fields[] =>
  (WRITERS[content.type] as Writer<Content>)(content, context)

/** A hint inside a tool result, where no cache point can be: it concerns the result. */
const cacheIn = (content: Content): Cache | undefined =>
  content.type === 'result' ? content.content.findLast(({ cache }) => cache)?.cache : undefined

/** The blocks of a message; cache points follow what they cache. */
export const writeBlocks = (
  contents: readonly Content[],
  context: BlockContext,
): readonly Fields[] =>
  contents.flatMap(content => {
    const blocks = writeBlock(content, context)
    const cache = 'cache' in content ? (content.cache ?? cacheIn(content)) : cacheIn(content)
    return blocks.length === 0
      ? blocks
      : [...blocks, ...writeCachePoint(cache, context.target, context.dropped)]
  })
