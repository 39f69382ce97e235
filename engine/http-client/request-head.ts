/** The head of a request on the wire. Pure. */
import type { Body, Headers } from '../plugin.ts'
import { isLength, isWord, nameOf } from './grammar.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Body
}
/** What no HTTP/1.1 message can carry: nothing was sent, or not all of it. */
export class Unsendable extends Error {}

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** Methods whose body is expected: without one they say so. */
const EXPECTING = new Set(['POST', 'PUT', 'PATCH'])
/** What frames a message, or asks something of its connection: nobody's to say but ours. */
const OURS = new Set(['transfer-encoding', 'upgrade', 'keep-alive', 'expect'])

/** A head on the wire, and what it says of the body. */
export interface RequestHead {
  readonly text: string
  /** Bytes; -1 where the body goes in chunks. */
  readonly length: number
}
/** Throws Unsendable. `host`: unless a header says another. */
export const writeHead = (host: string, { method, path, headers, body }: Request): RequestHead => {
  if (!PATH.test(path)) throw new Unsendable('its path is none')
  if (!isWord(method)) throw new Unsendable('its method is no word')
  let fields = ''
  let named: string | undefined
  let said: string | undefined
  for (const given in headers) {
    const value = headers[given]
    if (value === undefined) continue
    const name = nameOf(given)
    if (name === '') throw new Unsendable(`"${given}" is no name of a header`)
    if (name === 'connection') continue // it is kept, whatever somebody else's was
    if (OURS.has(name)) throw new Unsendable(`its header ${name} is not for others to set`)
    if (name === 'content-length') said = single(name, value, said)
    else if (name === 'host') named = single(name, value, named)
    else if (Array.isArray(value)) for (const each of value) fields += fieldOf(name, each)
    else fields += fieldOf(name, value)
  }
  const length = lengthOf(method, body, said)
  const framing =
    length === undefined
      ? ''
      : length < 0
        ? 'transfer-encoding: chunked\r\n'
        : `content-length: ${length}\r\n`
  const text = `${method} ${path} HTTP/1.1\r\n${fieldOf('host', named ?? host)}connection: keep-alive\r\n${fields}${framing}\r\n`
  return { text, length: length ?? 0 }
}
/** A plugin in JavaScript may give a number. */
const fieldOf = (name: string, value: unknown): string => {
  const text = String(value)
  if (NOT_IN_VALUE.test(text)) throw new Unsendable(`the value of its header ${name} breaks lines`)
  return `${name}: ${text}\r\n`
}
const single = (name: string, value: unknown, before: string | undefined): string => {
  if (before !== undefined || Array.isArray(value)) throw new Unsendable(`it has two ${name}`)
  return String(value)
}
/** Undefined where nothing is said of a body. */
const lengthOf = (method: string, body: Body, said: string | undefined): number | undefined => {
  if (said !== undefined && !isLength(said)) throw new Unsendable('its length is none')
  const announced = said === undefined ? undefined : Number(said)
  if (body !== undefined && !(body instanceof Uint8Array)) return announced ?? -1
  const length = body?.length ?? 0
  if (announced !== undefined && announced !== length)
    throw new Unsendable('its body is not as long as its length says')
  return body === undefined && !EXPECTING.has(method) ? undefined : length
}
