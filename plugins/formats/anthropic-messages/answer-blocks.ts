/** Encodes hub content as blocks for a client. Data that the client cannot read travels as an
 *  opaque payload, which the client sends back. */
import { fitted, NARROW } from '../call-id.ts'
import type { Call, Content, OpaquePayload, Text, Thought, Work } from '../content.ts'
import { type Fields, isFields } from '../fields.ts'
import { sealedFor } from '../seal.ts'
import { writeCitation } from './citations.ts'
import { callerOf, REDACTED, workSeal } from './content.ts'
import { shownMedia } from './media.ts'
import { OWN } from './read.ts'
import { argumentsOf } from './write-content.ts'
import { serverId, workBlocks } from './write-work.ts'

type Writer<T extends Content> = (content: T) => readonly Fields[]
type Writers = { readonly [T in Content['type']]: Writer<Extract<Content, { readonly type: T }>> }

/** The start of a text block, without its text. */
export const textStart = (): Fields => ({ type: 'text', text: '', citations: null })
export const thoughtBlock = ({ text, payload }: Pick<Thought, 'text' | 'payload'>): Fields =>
  isRedacted(payload)
    ? { type: 'redacted_thinking', data: payload.data }
    : { type: 'thinking', thinking: text, signature: payload ? sealedFor(OWN, payload) : '' }
export const isRedacted = (payload: OpaquePayload | undefined): payload is OpaquePayload =>
  payload?.origin === OWN && payload.kind === REDACTED

/** Only thinking blocks have a field for a payload: an empty thinking block before the content
 *  carries it. */
export const carried = (payload: OpaquePayload | undefined): readonly Fields[] =>
  payload && payload.origin !== OWN ? [thoughtBlock({ text: '', payload })] : []

/** The start of a tool call, without its arguments. */
export const callStart = (call: Call): Fields => ({
  type: 'tool_use',
  id: fitted(call.id, NARROW),
  name: call.name,
  input: {},
  caller: DIRECT_CALLER,
  ...callerOf(call.payload),
})
const DIRECT_CALLER: Fields = Object.freeze({ type: 'direct' })

const writeText = ({ text, citations = [], payload }: Text): readonly Fields[] => {
  if (text === '' && citations.length === 0) return carried(payload)
  const citationList = citations.length > 0 ? citations.map(writeCitation) : null
  return [...carried(payload), { type: 'text', text, citations: citationList }]
}
export const packedBlocks = ({ raw, id }: Work): readonly Fields[] =>
  raw && raw.origin !== OWN ? carried(workSeal(raw, serverId(id))) : []
/** This provider's own blocks unchanged. Another provider's hosted call becomes the equivalent
 *  blocks, preceded by its original items as a payload. */
const writeWork = (work: Work): readonly Fields[] => {
  if (work.raw?.origin === OWN) return work.raw.items.filter(isFields)
  return [...carried(work.payload), ...packedBlocks(work), ...workBlocks(work)]
}

const WRITERS: Writers = {
  text: writeText,
  refusal: ({ text }) => writeText({ type: 'text', text }),
  thought: thought => [thoughtBlock(thought)],
  media: media => [...carried(media.payload), ...writeText(shownMedia(media))],
  call: call => [
    ...carried(call.payload),
    {
      ...callStart(call),
      input: call.isFreeText ? { input: call.input } : argumentsOf(call.input),
    },
  ],
  result: () => [],
  hostedCall: writeWork,
}
export const answerBlocks = (content: Content): readonly Fields[] =>
  (WRITERS[content.type] as Writer<Content>)(content)
