/** Thoughts in a format that has no field for them: `reasoning_content`, as many upstreams write it, for the text, and
 *  `reasoning_details` for what its provider must get back. Both are read from messages of the assistant, too. */
import type { Seal, Thought } from '../content.ts'
import { type Fields, inner, itemsIn, wordIn } from '../fields.ts'
import { sealedFor, unsealed } from '../seal.ts'

const NAME = 'openai-chat'

/** `{type: 'reasoning.text', text, signature}`: a thought; `{type: 'reasoning.encrypted', data}`: one without words. */
export const readThoughts = (message: Fields): readonly Thought[] => {
  const details = itemsIn(message, 'reasoning_details')
  const thoughts = details.flatMap(readDetail)
  if (thoughts.length > 0) return thoughts
  const text = wordIn(message, 'reasoning_content') ?? wordIn(message, 'reasoning')
  return text ? [{ type: 'thought', text }] : []
}
const readDetail = (detail: Fields): readonly Thought[] => {
  const text = wordIn(detail, 'text') ?? wordIn(detail, 'summary') ?? ''
  const sealed = wordIn(detail, 'signature') ?? wordIn(detail, 'data')
  if (text === '' && !sealed) return []
  return [{ type: 'thought', text, ...(sealed && { seal: unsealed(NAME, sealed) }) }]
}

export const writeDetail = ({ text, seal }: Thought): Fields => {
  if (!seal) return { type: 'reasoning.text', text }
  const sealed = sealedFor(NAME, seal)
  return text === ''
    ? { type: 'reasoning.encrypted', data: sealed }
    : { type: 'reasoning.text', text, signature: sealed }
}

/** Members of a message. Plain thoughts need no details. */
export const writeThoughts = (thoughts: readonly Thought[]): Fields => {
  if (thoughts.length === 0) return {}
  const text = thoughts.map(thought => thought.text).join('')
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(thoughts.some(({ seal }) => seal) && { reasoning_details: thoughts.map(writeDetail) }),
  }
}

/** On a call, as Google's own layer for this format has it: `extra_content.google.thought_signature`. */
export const callSeal = (call: Fields): Seal | undefined => {
  const signature = inner(inner(call, 'extra_content'), 'google').thought_signature
  return typeof signature === 'string' ? unsealed(NAME, signature) : undefined
}
export const writeCallSeal = (seal: Seal | undefined): Fields =>
  seal ? { extra_content: { google: { thought_signature: sealedFor(NAME, seal) } } } : {}

/** What an upstream of this format is given back: only what it sealed itself. */
export const ownThoughts = (thoughts: readonly Thought[]): readonly Thought[] =>
  thoughts.filter(({ seal }) => isOwn(seal))
export const isOwn = (seal: Seal | undefined): boolean => seal?.origin === NAME
