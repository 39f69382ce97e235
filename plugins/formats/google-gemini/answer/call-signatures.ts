/** Thoughts of other providers in the signature of the call behind them: many clients send back the
 *  signatures of calls, but no thoughts, which those providers require before a call. */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../../fields.ts'
import type { Call, Content, OpaquePayload, Thought } from '../../hub/content.ts'
import { NAME } from '../name.ts'

const KIND = 'thoughts'

/** Undefined without thoughts of another provider. */
export const payloadOfThoughts = (thoughts: readonly Thought[]): OpaquePayload | undefined => {
  const foreignThoughts = thoughts.filter(({ payload }) => payload && payload.origin !== NAME)
  const origin = foreignThoughts[0]?.payload?.origin
  if (origin === undefined) return undefined
  const entries = foreignThoughts.map(({ text, payload }) => ({ text, payload }))
  return { origin, kind: KIND, data: JSON.stringify(entries) }
}
/** The thoughts in the payload of a call, and the call without them. */
export const contentOfCall = (call: Call): readonly Content[] => {
  const { payload, ...rest } = call
  if (payload?.kind !== KIND) return [call]
  const entries = parseJson(payload.data)
  return [...(Array.isArray(entries) ? entries : []).flatMap(thoughtIn), rest]
}
/** The client may have written anything. */
const thoughtIn = (entry: unknown): readonly Thought[] => {
  const { text, payload } = isFields(entry as Json) ? (entry as Fields) : {}
  if (typeof text !== 'string' || !isFields(payload)) return []
  const { origin, data, kind, id } = payload
  if (typeof origin !== 'string' || typeof data !== 'string') return []
  const more = {
    ...(typeof kind === 'string' && { kind }),
    ...(typeof id === 'string' && { id }),
  }
  return [{ type: 'thought', text, payload: { origin, data, ...more } }]
}
/** The content of an answer with thoughts in the payloads of the calls behind them. */
export const withThoughtsOnCalls = (content: readonly Content[]): readonly Content[] => {
  let thoughts: Thought[] = []
  return content.map(each => {
    if (each.type === 'thought') thoughts.push(each)
    if (each.type !== 'call' || each.payload) return each
    const payload = payloadOfThoughts(thoughts)
    thoughts = []
    return payload ? { ...each, payload } : each
  })
}
