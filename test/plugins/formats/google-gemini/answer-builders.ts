/** Short constructors for answers of generateContent, whole and in stream events. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import { codecOf, decodeStream } from '../../../helpers/formats/codec.ts'

const NAME = 'google-gemini'
const codec = codecOf(NAME)
export const event = (body: Json) => `data: ${JSON.stringify(body)}\r\n\r\n`
export const piece = (parts: Json, more: object = {}) =>
  event({ candidates: [{ content: { parts, role: 'model' }, ...more }], responseId: 'r1' })
export const stop = (reason = 'STOP', more: object = {}) =>
  piece([{ text: '' }], { finishReason: reason, ...more })
export const call = (more: Json) => piece([{ functionCall: more }])
export const stringPiece = (path: string, text: string, more = true) => ({
  partialArgs: [{ jsonPath: path, stringValue: text, ...(more && { willContinue: true }) }],
  willContinue: true,
})
export const contentOf = (...events: string[]) =>
  decodeStream(NAME, events.join('')).choices[0]?.content
export const stopOf = (...events: string[]) => decodeStream(NAME, events.join('')).choices[0]?.stop
export const whole = (candidate: Json, more: object = {}) =>
  codec.decodeAnswer({ candidates: [candidate], ...more } as Fields)
export const inputsOf = (...events: string[]) =>
  (contentOf(...events) ?? []).map(each => (each.type === 'call' ? JSON.parse(each.input) : each))
