/** Formats the head of a request. Pure. */
import type { Body, Headers } from '../plugin.ts'
import { isLength, isName, nameOf } from './grammar.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Body
}
/** A request that no HTTP/1.1 message can carry: nothing was sent, or not all of it. */
export class UnsendableRequest extends Error {}

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/
const FORBIDDEN_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** Methods for which a body is expected: without one they send `content-length: 0`. */
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])
/** Headers that frame a message or control its connection: only the client sets these. */
const RESERVED_HEADERS = new Set(['transfer-encoding', 'upgrade', 'keep-alive', 'expect'])

/** A head as text, and the length of the body. */
export interface RequestHead {
  readonly text: string
  /** Bytes; -1 for a chunked body. */
  readonly length: number
}
/** Throws UnsendableRequest. `host`: unless a header has another. */
export const formatHead = (host: string, { method, path, headers, body }: Request): RequestHead => {
  if (!PATH.test(path)) throw new UnsendableRequest('its path is invalid')
  if (!isName(method)) throw new UnsendableRequest('its method is invalid')
  let fields = ''
  let hostHeader: string | undefined
  let contentLength: string | undefined
  for (const originalName in headers) {
    const value = headers[originalName]
    if (value === undefined) continue
    const name = nameOf(originalName)
    if (name === '') throw new UnsendableRequest(`"${originalName}" is not a header name`)
    if (name === 'connection') continue // always keep-alive
    if (RESERVED_HEADERS.has(name))
      throw new UnsendableRequest(`its header ${name} is set by the client alone`)
    if (name === 'content-length') contentLength = requireSingle(name, value, contentLength)
    else if (name === 'host') hostHeader = requireSingle(name, value, hostHeader)
    else if (Array.isArray(value)) for (const each of value) fields += formatField(name, each)
    else fields += formatField(name, value)
  }
  const length = bodyLength(method, body, contentLength)
  const framing =
    length === undefined
      ? ''
      : length < 0
        ? 'transfer-encoding: chunked\r\n'
        : `content-length: ${length}\r\n`
  const text = `${method} ${path} HTTP/1.1\r\n${formatField('host', hostHeader ?? host)}connection: keep-alive\r\n${fields}${framing}\r\n`
  return { text, length: length ?? 0 }
}
/** A plugin in JavaScript may pass a number. */
const formatField = (name: string, value: unknown): string => {
  const text = String(value)
  if (FORBIDDEN_IN_VALUE.test(text))
    throw new UnsendableRequest(`its header ${name} has a character that no header can carry`)
  return `${name}: ${text}\r\n`
}
const requireSingle = (name: string, value: unknown, before: string | undefined): string => {
  if (before !== undefined || Array.isArray(value))
    throw new UnsendableRequest(`it has two ${name}`)
  return String(value)
}
/** Undefined: no framing header is sent. */
const bodyLength = (
  method: string,
  body: Body,
  contentLength: string | undefined,
): number | undefined => {
  if (contentLength !== undefined && !isLength(contentLength))
    throw new UnsendableRequest('its content-length is invalid')
  const declaredLength = contentLength === undefined ? undefined : Number(contentLength)
  if (body !== undefined && !(body instanceof Uint8Array)) return declaredLength ?? -1
  const length = body?.length ?? 0
  if (declaredLength !== undefined && declaredLength !== length)
    throw new UnsendableRequest('its body is not as long as its length says')
  return body === undefined && !METHODS_WITH_BODY.has(method) ? undefined : length
}
