/** Parses the head of a response: its status, its headers, and whether the connection stays open.
 *  Pure. */
import { nameOf } from './grammar.ts'

export type ResponseHeaders = Readonly<Record<string, string | string[]>>

export interface ResponseHead {
  readonly status: number
  /** Names in lower case; a repeated header has an array of values. */
  readonly headers: ResponseHeaders
  /** Whether the connection can carry another request. */
  readonly isReusable: boolean
  /** The idle timeout that the upstream announces in Keep-Alive, ms. */
  readonly keepAliveMs: number | undefined
}

/** The bytes are not a valid HTTP/1.1 response. */
export class MalformedResponse extends Error {}

/** Maximum size of a head, or of all trailers, in bytes: the default of Node's client. */
export const HEAD_LIMIT = 16 * 1024

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |\r|$)/
/** Control characters, and line ends that are not CR LF. */
const FORBIDDEN_IN_HEAD = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?:^|[^\r])\n/

/** `text`: the head without the empty line at its end. Throws MalformedResponse. */
export const parseResponseHead = (text: string): ResponseHead => {
  const headers = parseHeaderLines(text)
  const [, minor, digits] = STATUS_LINE.exec(text) ?? []
  if (!digits)
    throw new MalformedResponse('a response that does not begin with an HTTP/1.x status line')
  const status = Number(digits)
  if (status === 101) throw new MalformedResponse('a 101 response to a request without Upgrade')
  if (minor === '0' && headers['transfer-encoding'] !== undefined)
    throw new MalformedResponse('a Transfer-Encoding in HTTP/1.0')
  return {
    status,
    headers,
    isReusable: allowsReuse(headers.connection, minor === '1'),
    keepAliveMs: readKeepAliveMs(headers['keep-alive']),
  }
}

/** A record without a prototype, for few lists of names: V8 turns `Object.create(null)` into a hash
 *  table, slower to use, and compiles again what reads an instance of this with another list. */
const NullPrototype = function NullPrototype() {} as unknown as { new (): Record<string, string> }
NullPrototype.prototype = Object.create(null)

/** Parses header lines, also those of trailers. Ignores the text before the first CR LF. Throws
 *  MalformedResponse. */
export const parseHeaderLines = (text: string): ResponseHeaders => {
  if (FORBIDDEN_IN_HEAD.test(text)) throw new MalformedResponse('a control character in the head')
  const headers: Record<string, string | string[]> = new NullPrototype()
  let lineEnd = text.indexOf('\r\n')
  while (lineEnd >= 0) {
    const start = lineEnd + 2
    lineEnd = text.indexOf('\r\n', start)
    const end = lineEnd < 0 ? text.length : lineEnd
    const colon = text.indexOf(':', start)
    const name = colon < 0 || colon > end ? '' : nameOf(text.slice(start, colon))
    if (name === '') throw new MalformedResponse('a header line without a valid name')
    const value = trimBlanks(text, colon + 1, end)
    // Parsers that keep the tab do not recognise `chunked`, and find another end of the message.
    if (text[end - 1] === '\t' && FRAMING_HEADERS.has(name))
      throw new MalformedResponse(`a tab after the value of ${FRAMING_HEADERS.get(name)}`)
    const existing = headers[name]
    if (existing === undefined) headers[name] = value
    else if (Array.isArray(existing)) existing.push(value)
    else headers[name] = [existing, value]
  }
  return headers
}
/** The headers that determine where a message ends, with their names for error messages. */
const FRAMING_HEADERS: ReadonlyMap<string, string> = new Map([
  ['transfer-encoding', 'Transfer-Encoding'],
  ['content-length', 'Content-Length'],
])
/** Removes spaces and tabs from both ends (RFC 9110 §5.5). */
const trimBlanks = (text: string, from: number, to: number): string => {
  let [start, end] = [from, to]
  while (start < end && isBlank(text[start])) start++
  while (end > start && isBlank(text[end - 1])) end--
  return text.slice(start, end)
}
const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'

const allowsReuse = (connection: string | string[] | undefined, isHttp11: boolean): boolean => {
  if (connection === undefined) return isHttp11
  const options = String(connection).toLowerCase()
  return !options.includes('close') && (isHttp11 || options.includes('keep-alive'))
}
const readKeepAliveMs = (header: string | string[] | undefined): number | undefined => {
  if (header === undefined) return undefined
  const seconds = /timeout=(\d{1,6})/i.exec(String(header))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
