/** The head of a request on the wire. Pure. */
import type { Body, Headers } from '../plugin.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Body
}
/** What no HTTP/1.1 message can carry: nothing was sent, or not all of it. */
export class Unsendable extends Error {}

const WORD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** Methods whose body is expected: without one they say so. */
const EXPECTING = new Set(['POST', 'PUT', 'PATCH'])

/** The request's head on the wire. Throws Unsendable. */
export const writeHead = (host: string, { method, path, headers, body }: Request): string => {
  if (!PATH.test(path)) throw new Unsendable('its path is none')
  if (!WORD.test(method)) throw new Unsendable('its method is no word')
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name]
    if (name === 'content-length' || value === undefined) continue
    if (!WORD.test(name)) throw new Unsendable(`"${name}" is no name of a header`)
    if (typeof value === 'string') head += fieldOf(name, value)
    else for (const each of value) head += fieldOf(name, each)
  }
  return `${head}${framingOf(method, headers, body)}\r\n`
}
const fieldOf = (name: string, value: string): string => {
  if (NOT_IN_VALUE.test(value)) throw new Unsendable(`the value of its header ${name} breaks lines`)
  return `${name}: ${value}\r\n`
}
const framingOf = (method: string, headers: Headers, body: Body): string => {
  const said = headers['content-length']
  if (said !== undefined && !DIGITS.test(String(said))) throw new Unsendable('its length is none')
  if (body === undefined) return EXPECTING.has(method) ? 'content-length: 0\r\n' : ''
  const length = body instanceof Uint8Array ? body.length : said
  if (said !== undefined && Number(said) !== Number(length))
    throw new Unsendable('its body is not as long as its length says')
  return length === undefined ? 'transfer-encoding: chunked\r\n' : `content-length: ${length}\r\n`
}
const DIGITS = /^\d{1,15}$/
/** -1 where the body goes in chunks. */
export const lengthIn = ({ headers }: Request): number => Number(headers['content-length'] ?? -1)
