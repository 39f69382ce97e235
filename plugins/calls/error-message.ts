/** Error messages of failed calls: texts of bounded length without secrets. Pure. */
import { hideSecrets } from '../../engine/observe/secret-text.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import { decodeErrorReply } from '../formats/openai-error-reply.ts'

/** Bytes of a message that are kept. */
const MAX_MESSAGE = 512

/** A text from outside without secrets and control characters, as UTF-8 of bounded length. */
export const boundText = (text: string, bytes = MAX_MESSAGE): string => {
  // A secret that is cut would no longer be recognised.
  const plain = hideSecrets(text.slice(0, bytes * 4)).replace(/\p{Cc}+/gu, ' ')
  return Buffer.from(plain.trim())
    .subarray(0, bytes)
    .toString()
    .replace(/\uFFFD+$/, '')
}

/** The message of an upstream's error, in any of the usual shapes; otherwise its text. */
export const messageIn = (text: string): string => {
  const body = parseJson(text)
  const fields = Array.isArray(body) ? body[0] : body
  const { message } = decodeErrorReply(0, isFields(fields) ? fields : {})
  return boundText(message === NO_MESSAGE ? text : message)
}
const NO_MESSAGE = decodeErrorReply(0, undefined).message
