/** Encodes blocks of the hub as parts of an answer for a client. */
import type { Json } from '../../../../engine/plugin.ts'
import { argumentsOf, type Fields } from '../../fields.ts'
import { encodeCallId, PORTABLE_ID } from '../../hub/call-id.ts'
import type { Content, OpaquePayload } from '../../hub/content.ts'
import { encodePayload } from '../../hub/opaque-payload.ts'
import { writeMediaPart } from '../content.ts'
import { hostedCallParts } from '../hosted-tools.ts'
import { NAME } from '../name.ts'

/** A payload goes into the field that the client sends back with the part. */
export const signatureMember = (payload: OpaquePayload | undefined): Fields =>
  payload ? { thoughtSignature: encodePayload(NAME, payload) } : {}

/** A thought without text that only carries Google's own signature of a text is sent as Google
 *  sends it. */
export const thoughtMember = (hasText: boolean, payload: OpaquePayload | undefined): Fields =>
  hasText || payload?.origin !== NAME ? { thought: true } : {}

export const partsOf = (content: Content): readonly Json[] => {
  switch (content.type) {
    case 'text':
      return content.text === '' && !content.payload
        ? []
        : [{ text: content.text, ...signatureMember(content.payload) }]
    case 'refusal':
      return content.text === '' ? [] : [{ text: content.text }]
    case 'thought':
      return [
        {
          text: content.text,
          ...thoughtMember(content.text !== '', content.payload),
          ...signatureMember(content.payload),
        },
      ]
    case 'call': {
      const { id, name, input, isFreeText, payload } = content
      const args = isFreeText ? { input } : argumentsOf(input)
      return [
        {
          functionCall: { id: encodeCallId(id, PORTABLE_ID), name, args },
          ...signatureMember(payload),
        },
      ]
    }
    case 'media': {
      const part = writeMediaPart(content)
      return part === undefined
        ? []
        : [{ ...(part as Fields), ...signatureMember(content.payload) }]
    }
    case 'hostedCall':
      return hostedCallParts(content)
    case 'result':
      return []
  }
}
