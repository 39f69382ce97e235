/** Thoughts in a format without a field for them: `reasoning_content` (used by many upstreams) for
 *  the text, and `reasoning_details` for payloads. Both are also read from a client's assistant
 *  messages. */
import type { OpaquePayload, Thought } from '../content.ts'
import { type Fields, inner, itemsIn, wordIn } from '../fields.ts'
import { sealedFor, unsealed } from '../seal.ts'

const NAME = 'openai-chat'

/** `{type: 'reasoning.text', text, signature}`: a thought; `{type: 'reasoning.encrypted', data}`:
 *  one without text. */
export const readThoughts = (message: Fields): readonly Thought[] => {
  const details = itemsIn(message, 'reasoning_details')
  const thoughts = details.flatMap(readDetail)
  if (thoughts.length > 0) return thoughts
  const text = wordIn(message, 'reasoning_content') ?? wordIn(message, 'reasoning')
  return text ? [{ type: 'thought', text }] : []
}
const readDetail = (detail: Fields): readonly Thought[] => {
  const text = wordIn(detail, 'text') ?? wordIn(detail, 'summary') ?? ''
  const encoded = wordIn(detail, 'signature') ?? wordIn(detail, 'data')
  if (text === '' && !encoded) return []
  return [{ type: 'thought', text, ...(encoded && { payload: unsealed(NAME, encoded) }) }]
}

export const writeDetail = ({ text, payload }: Thought): Fields => {
  if (!payload) return { type: 'reasoning.text', text }
  const encoded = sealedFor(NAME, payload)
  return text === ''
    ? { type: 'reasoning.encrypted', data: encoded }
    : { type: 'reasoning.text', text, signature: encoded }
}

/** Fields of a message. Thoughts without payload need no details. */
export const writeThoughts = (thoughts: readonly Thought[]): Fields => {
  if (thoughts.length === 0) return {}
  const text = thoughts.map(thought => thought.text).join('')
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(thoughts.some(({ payload }) => payload) && {
      reasoning_details: thoughts.map(writeDetail),
    }),
  }
}

/** The payload of a call is in `extra_content.google.thought_signature`, as in Google's
 *  compatibility layer for this format. */
export const callSeal = (call: Fields): OpaquePayload | undefined => {
  const signature = inner(inner(call, 'extra_content'), 'google').thought_signature
  return typeof signature === 'string' ? unsealed(NAME, signature) : undefined
}
export const writeCallSeal = (payload: OpaquePayload | undefined): Fields =>
  payload ? { extra_content: { google: { thought_signature: sealedFor(NAME, payload) } } } : {}

/** An upstream of this format receives only payloads of its own. */
export const ownThoughts = (thoughts: readonly Thought[]): readonly Thought[] =>
  thoughts.filter(({ payload }) => isOwn(payload))
export const isOwn = (payload: OpaquePayload | undefined): boolean => payload?.origin === NAME
