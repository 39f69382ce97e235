/** Encodes blocks of the hub as whole steps of an answer. */
import { argumentsOf, type Fields } from '../fields.ts'
import { GOOGLE } from '../google/origin.ts'
import { encodeCallId, PORTABLE_ID } from '../hub/call-id.ts'
import type { Call, Content, OpaquePayload } from '../hub/content.ts'
import { encodePayload } from '../hub/opaque-payload.ts'
import { writeContent } from './content.ts'
import { hostedCallSteps } from './hosted-tools.ts'

export const stepsOf = (content: Content): readonly Fields[] => {
  switch (content.type) {
    case 'text':
      return [
        ...(content.text === '' ? [] : [outputStep([writeContent(content)])]),
        ...carriedBy(content.payload),
      ]
    case 'refusal':
      return content.text === '' ? [] : [outputStep([{ type: 'text', text: content.text }])]
    case 'media':
      return [outputStep([writeContent(content)]), ...carriedBy(content.payload)]
    case 'thought':
      return [thoughtStep(content.text, content.payload)]
    case 'call':
      return [...carriedBy(content.payload), callStep(content, content.input)]
    case 'hostedCall':
      return hostedCallSteps(content)
    case 'result':
      return []
  }
}
const outputStep = (content: readonly Fields[]): Fields => ({ type: 'model_output', content })
export const signatureOf = (payload: OpaquePayload): string => encodePayload(GOOGLE, payload)
export const thoughtStep = (text: string, payload: OpaquePayload | undefined): Fields => ({
  type: 'thought',
  ...(payload && { signature: signatureOf(payload) }),
  ...(text !== '' && { summary: [{ type: 'text', text }] }),
})
/** A payload without a member at its content becomes a thought. */
export const carriedBy = (payload: OpaquePayload | undefined): readonly Fields[] =>
  payload && payload.kind === undefined ? [thoughtStep('', payload)] : []
/** `input`: the arguments as JSON, or the free text; undefined: none yet. */
export const callStep = ({ id, name, isFreeText }: Call, input: string | undefined): Fields => ({
  type: 'function_call',
  id: encodeCallId(id, PORTABLE_ID),
  name,
  arguments: input === undefined ? {} : isFreeText ? { input } : argumentsOf(input),
})
