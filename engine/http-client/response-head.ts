/** The head of an answer: its status, its fields, and whether its connection goes on. Pure. */
import { Blank } from '../response/headers.ts'
import { nameOf } from './grammar.ts'

export type AnswerHeaders = Readonly<Record<string, string | string[]>>

export interface AnswerHead {
  readonly status: number
  /** Names in lower case; one that came more than once has a list. */
  readonly headers: AnswerHeaders
  /** Whether the connection can carry another request. */
  readonly persistent: boolean
  /** How long the upstream says that it keeps an idle connection, ms. */
  readonly keeps: number | undefined
}

/** The upstream does not speak HTTP/1.1 as it is written down. */
export class AnswerBroken extends Error {}

/** Bytes of a head, or of all trailers: what Node's clients read at most. */
export const HEAD_MOST = 16 * 1024

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |\r|$)/
/** Control characters, and line ends that are not CR LF. */
const UNREADABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?:^|[^\r])\n/

/** Without the empty line. Throws AnswerBroken. */
export const readAnswerHead = (text: string): AnswerHead => {
  const headers = readFields(text)
  const [, minor, digits] = STATUS_LINE.exec(text) ?? []
  if (!digits) throw new AnswerBroken('it does not begin like an answer of HTTP/1.1')
  const status = Number(digits)
  if (status === 101) throw new AnswerBroken('it switches protocols unasked')
  if (minor === '0' && headers['transfer-encoding'] !== undefined)
    throw new AnswerBroken('a Transfer-Encoding in HTTP/1.0')
  return {
    status,
    headers,
    persistent: keepsOpen(headers.connection, minor === '1'),
    keeps: hintIn(headers['keep-alive']),
  }
}

/** The lines after the first. */
export const readFields = (text: string): AnswerHeaders => {
  if (UNREADABLE.test(text)) throw new AnswerBroken('a control character in the head')
  const headers: Record<string, string | string[]> = new Blank()
  let at = text.indexOf('\r\n')
  while (at >= 0) {
    const start = at + 2
    at = text.indexOf('\r\n', start)
    const end = at < 0 ? text.length : at
    const colon = text.indexOf(':', start)
    const name = colon < 0 || colon > end ? '' : nameOf(text.slice(start, colon))
    if (name === '') throw new AnswerBroken('a header without a name')
    const value = trimmed(text, colon + 1, end)
    // Some readers keep that tab, and take `chunked` with it for another coding.
    if (text[end - 1] === '\t' && FRAMING.has(name))
      throw new AnswerBroken(`a tab behind the ${FRAMING.get(name)}`)
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
const trimmed = (text: string, from: number, to: number): string => {
  let [start, end] = [from, to]
  while (start < end && isBlank(text[start])) start++
  while (end > start && isBlank(text[end - 1])) end--
  return text.slice(start, end)
}
const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'

const keepsOpen = (connection: string | string[] | undefined, since11: boolean): boolean => {
  if (connection === undefined) return since11
  const words = String(connection).toLowerCase()
  return !words.includes('close') && (since11 || words.includes('keep-alive'))
}
const hintIn = (header: string | string[] | undefined): number | undefined => {
  if (header === undefined) return undefined
  const seconds = /timeout=(\d{1,6})/i.exec(String(header))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
