/** Parses JSON bodies after one checking pass, so that no shape of input exhausts the process. */
import { isAscii, isUtf8 } from 'node:buffer'
import { asBuffer } from '../kit.ts'
import type { Bytes, Json } from '../plugin.ts'
import { checkJson } from './json/check.ts'
import { fault, LIMITS, parseText } from './json/faults.ts'

export const parseJson = (bytes: Bytes, limits = LIMITS): Json => {
  if (bytes.length === 0) throw fault('BODY_EMPTY')
  const hasOnlyAscii = isAscii(bytes)
  if (!hasOnlyAscii && !isUtf8(bytes)) throw fault('BODY_NOT_UTF8')
  const buffer = asBuffer(bytes)
  const text = buffer.toString('latin1')
  checkJson(buffer, text, limits)
  return parseText(hasOnlyAscii ? text : buffer.toString()) as Json
}
