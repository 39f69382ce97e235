/** Encodes hub content as blocks for a client. Data that the client cannot read travels as an
 *  opaque payload, which the client sends back. */
import { argumentsOf, type Fields, isFields } from '../../fields.ts'
import { encodeCallId, PORTABLE_ID } from '../../hub/call-id.ts'
import type { Call, Content, HostedCall, OpaquePayload, Text, Thought } from '../../hub/content.ts'
import { encodePayload } from '../../hub/opaque-payload.ts'
import { callerFields, hostedItemsPayload, REDACTED_KIND } from '../decode-content.ts'
import { hostedCallBlocks, useId } from '../encode-hosted-tools.ts'
import { mediaAsText } from '../media.ts'
import { NAME } from '../members.ts'
import { writeCitation } from './citations.ts'

type Writer<T extends Content> = (content: T) => readonly Fields[]
type Writers = { readonly [T in Content['type']]: Writer<Extract<Content, { readonly type: T }>> }

/** The start of a text block, without its text. */
export const textStart = (): Fields => ({ type: 'text', text: '' })
export const thoughtBlock = ({ text, payload }: Pick<Thought, 'text' | 'payload'>): Fields =>
  isRedacted(payload)
    ? { type: 'redacted_thinking', data: payload.data }
    : { type: 'thinking', thinking: text, signature: payload ? encodePayload(NAME, payload) : '' }
export const isRedacted = (payload: OpaquePayload | undefined): payload is OpaquePayload =>
  payload?.origin === NAME && payload.kind === REDACTED_KIND

/** Only thinking blocks have a field for a payload: an empty thinking block before the content
 *  carries it. */
export const payloadBlocks = (payload: OpaquePayload | undefined): readonly Fields[] =>
  payload && payload.origin !== NAME ? [thoughtBlock({ text: '', payload })] : []

/** The start of a tool call, without its arguments. */
export const callStart = (call: Call): Fields => ({
  type: 'tool_use',
  id: encodeCallId(call.id, PORTABLE_ID),
  name: call.name,
  input: {},
  caller: DIRECT_CALLER,
  ...callerFields(call.payload),
})
const DIRECT_CALLER: Fields = Object.freeze({ type: 'direct' })

const writeText = ({ text, citations = [], payload }: Text): readonly Fields[] => {
  if (text === '' && citations.length === 0) return payloadBlocks(payload)
  // The provider sends no `citations` if there are none.
  const citationsMember = citations.length > 0 && { citations: citations.map(writeCitation) }
  return [...payloadBlocks(payload), { type: 'text', text, ...citationsMember }]
}
export const hostedItemBlocks = (call: HostedCall): readonly Fields[] => {
  const { raw } = call
  return raw && raw.origin !== NAME ? payloadBlocks(hostedItemsPayload(raw, useId(call))) : []
}
/** This provider's own blocks unchanged. Another provider's hosted call becomes the equivalent
 *  blocks, preceded by its original items as a payload. */
const writeHostedCall = (call: HostedCall): readonly Fields[] => {
  if (call.raw?.origin === NAME) return call.raw.items.filter(isFields)
  return [...payloadBlocks(call.payload), ...hostedItemBlocks(call), ...hostedCallBlocks(call)]
}

const WRITERS: Writers = {
  text: writeText,
  refusal: ({ text }) => writeText({ type: 'text', text }),
  thought: thought => [thoughtBlock(thought)],
  media: media => [...payloadBlocks(media.payload), ...writeText(mediaAsText(media))],
  call: call => [
    ...payloadBlocks(call.payload),
    {
      ...callStart(call),
      input: call.isFreeText ? { input: call.input } : argumentsOf(call.input),
    },
  ],
  result: () => [],
  hostedCall: writeHostedCall,
}
export const answerBlocks = (content: Content): readonly Fields[] =>
  (WRITERS[content.type] as Writer<Content>)(content)
