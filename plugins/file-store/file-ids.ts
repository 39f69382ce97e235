/** Ids of stored files inside requests: found in bytes, in JSON, and in URIs. Pure. */
import { asBuffer, isFields } from '../../engine/kit.ts'
import type { Bytes, Json } from '../../engine/plugin.ts'
import { isFileId } from './stored-file.ts'

const MARK = Buffer.from('file-')
/** Hexadecimal digits that follow the mark in every id. Ids of providers have other letters. */
const MIN_DIGITS = 24
/** How requests name a file: by its id, or by an address that ends in the id. */
const REFERENCE = /^(?:files\/|(https?:\/\/[^?#]+)\/v1\/files\/)?(file-[^/]+)$/
/** Letters of the longest reference. */
const MAX_LENGTH = 640

/** Whether the bytes of a request may hold an id. Almost no request does, so that its JSON need not
 *  be searched. */
export const mayNameFile = (bytes: Bytes): boolean => {
  const buffer = asBuffer(bytes)
  for (let at = buffer.indexOf(MARK); at >= 0; at = buffer.indexOf(MARK, at + MARK.length))
    if (countDigits(buffer, at + MARK.length) >= MIN_DIGITS) return true
  return false
}
const countDigits = (bytes: Bytes, start: number): number => {
  let end = start
  while (end - start < MIN_DIGITS && isDigit(bytes[end] ?? 0)) end++
  return end - start
}
const isDigit = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66)

/** The id that a text of a request refers to: `file-…`, `files/file-…`, or the public address of
 *  the file. `base`: the public address of the gateway. Undefined for ids of other shapes, which
 *  belong to upstreams. */
export const fileIdIn = (text: string, base: string): string | undefined => {
  if (text.length > MAX_LENGTH) return undefined
  const [, address = base, id = ''] = REFERENCE.exec(text) ?? []
  return address === base && isFileId(id) ? id : undefined
}

/** Whether a text of a parsed request is a reference to a file. */
export const namesFile = (body: Json, base: string): boolean => {
  // Uses a list instead of recursion, because a request may be nested deeper than the stack.
  const queue: Json[] = [body]
  for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
    if (typeof value === 'string') {
      if (fileIdIn(value, base) !== undefined) return true
    } else if (Array.isArray(value)) for (const each of value) queue.push(each)
    else if (isFields(value)) for (const name in value) queue.push(value[name] as Json)
  }
  return false
}
