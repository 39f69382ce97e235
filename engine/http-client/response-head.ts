/** Parses the head of a response: status, fields, persistence of the connection. Pure. */
import { NullPrototype } from '../response/headers.ts'
import { nameOf } from './grammar.ts'

export type ResponseHeaders = Readonly<Record<string, string | string[]>>

export interface ResponseHead {
  readonly status: number
  /** Names in lower case; a name that came more than once has a list. */
  readonly headers: ResponseHeaders
  /** Whether the connection can carry another request. */
  readonly persistent: boolean
  /** How long the upstream says that it keeps an idle connection, ms. */
  readonly keepAliveMs: number | undefined
}

/** The bytes are no valid HTTP/1.1 response. */
export class MalformedResponse extends Error {}

/** Most bytes of a head, or of all trailers: as much as Node's clients read. */
export const HEAD_LIMIT = 16 * 1024

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |\r|$)/
/** Control characters, and line ends that are not CR LF. */
const FORBIDDEN_IN_HEAD = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?:^|[^\r])\n/

/** `text`: without the empty line. Throws MalformedResponse. */
export const parseResponseHead = (text: string): ResponseHead => {
  const headers = parseFields(text)
  const [, minor, digits] = STATUS_LINE.exec(text) ?? []
  if (!digits) throw new MalformedResponse('it does not begin like an HTTP/1.1 response')
  const status = Number(digits)
  if (status === 101) throw new MalformedResponse('it switches protocols unasked')
  if (minor === '0' && headers['transfer-encoding'] !== undefined)
    throw new MalformedResponse('a Transfer-Encoding in HTTP/1.0')
  return {
    status,
    headers,
    persistent: isPersistent(headers.connection, minor === '1'),
    keepAliveMs: readKeepAlive(headers['keep-alive']),
  }
}

/** Parses the lines behind the first. */
export const parseFields = (text: string): ResponseHeaders => {
  if (FORBIDDEN_IN_HEAD.test(text)) throw new MalformedResponse('a control character in the head')
  const headers: Record<string, string | string[]> = new NullPrototype()
  let at = text.indexOf('\r\n')
  while (at >= 0) {
    const start = at + 2
    at = text.indexOf('\r\n', start)
    const end = at < 0 ? text.length : at
    const colon = text.indexOf(':', start)
    const name = colon < 0 || colon > end ? '' : nameOf(text.slice(start, colon))
    if (name === '') throw new MalformedResponse('a header without a name')
    const value = trimBlanks(text, colon + 1, end)
    // Some readers keep that tab, and take `chunked` with it for another coding.
    if (text[end - 1] === '\t' && FRAMING.has(name))
      throw new MalformedResponse(`a tab behind the ${FRAMING.get(name)}`)
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (Array.isArray(before)) before.push(value)
    else headers[name] = [before, value]
  }
  return headers
}
/** The headers that say where a message ends. */
const FRAMING: ReadonlyMap<string, string> = new Map([
  ['transfer-encoding', 'Transfer-Encoding'],
  ['content-length', 'Content-Length'],
])
/** Without the spaces and tabs around it (RFC 9110 §5.5). */
const trimBlanks = (text: string, from: number, to: number): string => {
  let [start, end] = [from, to]
  while (start < end && isBlank(text[start])) start++
  while (end > start && isBlank(text[end - 1])) end--
  return text.slice(start, end)
}
const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'

const isPersistent = (connection: string | string[] | undefined, since11: boolean): boolean => {
  if (connection === undefined) return since11
  const words = String(connection).toLowerCase()
  return !words.includes('close') && (since11 || words.includes('keep-alive'))
}
const readKeepAlive = (header: string | string[] | undefined): number | undefined => {
  if (header === undefined) return undefined
  const seconds = /timeout=(\d{1,6})/i.exec(String(header))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
