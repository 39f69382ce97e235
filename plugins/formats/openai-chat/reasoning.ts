/** Thoughts in a format without a field for them: `reasoning_content` (used by many upstreams) for
 *  the text, and `reasoning_details` for payloads. Both are also read from a client's assistant
 *  messages. */
import { type Fields, lenientObject, lenientObjects, lenientText } from '../fields.ts'
import type { Content, OpaquePayload, Text, Thought } from '../hub/content.ts'
import { decodePayload, encodePayload } from '../hub/opaque-payload.ts'

const NAME = 'openai-chat'

/** `{type: 'reasoning.text', text, signature}`: a thought; `{type: 'reasoning.encrypted', data}`:
 *  one without text. */
export const readThoughts = (message: Fields): readonly Thought[] => {
  const details = lenientObjects(message, 'reasoning_details')
  const thoughts = details.flatMap(readDetail)
  if (thoughts.length > 0) return thoughts
  const text = lenientText(message, 'reasoning_content') ?? lenientText(message, 'reasoning')
  return text ? [{ type: 'thought', text }] : []
}
/** `content` as a list, as Mistral sends it: texts and `{type: 'thinking', thinking: [{type:
 *  'text', text}]}`, in their order. Empty for a string. */
export const readContentList = (message: Fields): readonly (Text | Thought)[] =>
  lenientObjects(message, 'content').flatMap((part): readonly (Text | Thought)[] => {
    const isThought = part.type === 'thinking'
    const text = isThought ? thinkingText(part) : (lenientText(part, 'text') ?? '')
    return text === '' ? [] : [{ type: isThought ? 'thought' : 'text', text }]
  })
/** The text of a part with thoughts: a list of texts, or one text. */
export const thinkingText = (part: Fields): string =>
  lenientText(part, 'thinking') ??
  lenientObjects(part, 'thinking')
    .map(each => lenientText(each, 'text') ?? '')
    .join('')
const readDetail = (detail: Fields): readonly Thought[] => {
  const text = lenientText(detail, 'text') ?? lenientText(detail, 'summary') ?? ''
  const encodedPayload = lenientText(detail, 'signature') ?? lenientText(detail, 'data')
  if (text === '' && !encodedPayload) return []
  return [
    {
      type: 'thought',
      text,
      ...(encodedPayload && { payload: decodePayload(NAME, encodedPayload) }),
    },
  ]
}

export const writeDetail = ({ text, payload }: Thought): Fields => {
  if (!payload) return { type: 'reasoning.text', text }
  const encodedPayload = encodePayload(NAME, payload)
  return text === ''
    ? { type: 'reasoning.encrypted', data: encodedPayload }
    : { type: 'reasoning.text', text, signature: encodedPayload }
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
export const readCallPayload = (call: Fields): OpaquePayload | undefined => {
  const signature = lenientObject(lenientObject(call, 'extra_content'), 'google').thought_signature
  return typeof signature === 'string' ? decodePayload(NAME, signature) : undefined
}
export const writeCallPayload = (payload: OpaquePayload | undefined): Fields =>
  payload ? { extra_content: { google: { thought_signature: encodePayload(NAME, payload) } } } : {}

/** An upstream of this format receives only payloads of its own. Thoughts without payload are its
 *  own too, unless the turn has payloads of another provider. */
export const ownThoughts = (content: readonly Content[]): readonly Thought[] => {
  const isForeign = content.some(
    each => 'payload' in each && each.payload && !isOwnPayload(each.payload),
  )
  return content.flatMap(each =>
    each.type === 'thought' && (each.payload ? isOwnPayload(each.payload) : !isForeign)
      ? [each]
      : [],
  )
}
export const isOwnPayload = (payload: OpaquePayload | undefined): boolean =>
  payload?.origin === NAME
