/** Encodes blocks of the hub as parts of an answer for a client. */
import type { Json } from '../../../engine/plugin.ts'
import { fitted, NARROW } from '../call-id.ts'
import type { Content, OpaquePayload } from '../content.ts'
import type { Fields } from '../fields.ts'
import { sealedFor } from '../seal.ts'
import { shown } from './media.ts'
import { NAME } from './name.ts'
import { worked } from './work.ts'
import { argsOf } from './write-content.ts'

/** A payload goes into the field that the client sends back with the part. */
export const signed = (payload: OpaquePayload | undefined): Fields =>
  payload ? { thoughtSignature: sealedFor(NAME, payload) } : {}

/** A thought without text that only carries Google's own signature of a text is sent as Google
 *  sends it. */
export const thinking = (hasText: boolean, payload: OpaquePayload | undefined): Fields =>
  hasText || payload?.origin !== NAME ? { thought: true } : {}

export const partsOf = (content: Content): readonly Json[] => {
  switch (content.type) {
    case 'text':
      return content.text === '' && !content.payload
        ? []
        : [{ text: content.text, ...signed(content.payload) }]
    case 'refusal':
      return content.text === '' ? [] : [{ text: content.text }]
    case 'thought':
      return [
        {
          text: content.text,
          ...thinking(content.text !== '', content.payload),
          ...signed(content.payload),
        },
      ]
    case 'call': {
      const { id, name, input, isFreeText, payload } = content
      const args = isFreeText ? { input } : argsOf(input)
      return [{ functionCall: { id: fitted(id, NARROW), name, args }, ...signed(payload) }]
    }
    case 'media': {
      const part = shown(content)
      return part === undefined ? [] : [{ ...(part as Fields), ...signed(content.payload) }]
    }
    case 'hostedCall':
      return worked(content)
    case 'result':
      return []
  }
}
