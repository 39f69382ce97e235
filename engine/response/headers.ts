/** Decides which headers pass, and which requests are refused for their head. Pure. */
import { errors } from '../errors.ts'
import type { Headers } from '../plugin.ts'

const fault = errors({
  HEAD_MALFORMED: [400, 'The request head is not acceptable: %s.'],
  HEADERS_TOO_MANY: [431, 'The request has more than %d headers.'],
  HEADERS_TOO_LARGE: [431, 'The headers of the request are larger than %d bytes.'],
  URL_TOO_LONG: [414, 'The request target is longer than %d bytes.'],
  EXPECTATION_FAILED: [417, 'Expect supports only "100-continue".'],
})

export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Names separated by spaces. */
export const setOf = (...names: readonly string[]): ReadonlySet<string> =>
  new Set(names.flatMap(list => list.split(' ')))

/** RFC 9110 §7.6.1: headers of one connection are not forwarded. */
export const HOP_BY_HOP =
  'connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer ' +
  'transfer-encoding upgrade'
/** Headers whose second value would change the meaning of the message (RFC 9112 §3.2, §6.3). */
const SINGLE = new Set(['host', 'content-length', 'transfer-encoding', 'content-type', 'expect'])
/** Names that every object has: an attack on programs that store headers in an object. */
const UNSAFE_NAMES = new Set(['__proto__', 'constructor', 'prototype', 'hasownproperty'])
// RFC 3986 reg-name, IPv4 or bracketed IPv6, and a port; also `_`, which real hosts have.
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Caches a result per name, up to limits: real traffic has few names. */
export const memoizeByName = <T extends boolean | string>(compute: (name: string) => T) => {
  const results = new Map<string, T>()
  return (name: string): T => {
    const cachedResult = results.get(name)
    if (cachedResult !== undefined) return cachedResult
    const result = compute(name)
    if (results.size < MOST_NAMES && name.length <= LONGEST_NAME) results.set(name, result)
    return result
  }
}
const MOST_NAMES = 500
const LONGEST_NAME = 64
/** The name in lower case, made once: the parser makes a new string of every name. */
const nameOf = memoizeByName(name => name.toLowerCase())

/** Turns raw name-value pairs into a record. Throws a fault. `limit`: headers. */
export const readHead = (
  raw: readonly string[],
  limit: number,
  bytes = Number.POSITIVE_INFINITY,
): RequestHeaders => {
  if (raw.length > limit * 2) throw fault('HEADERS_TOO_MANY', [limit])
  let size = 0
  // A hash table: clients send many lists of names.
  const headers: Record<string, string> = Object.create(null)
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = nameOf(raw[at] as string)
    const value = raw[at + 1] as string
    size += name.length + value.length + SEPARATORS
    const before = headers[name]
    if (before === undefined) {
      if (UNSAFE_NAMES.has(name))
        throw fault('HEAD_MALFORMED', [`a header may not be named ${name}`])
      headers[name] = value
    } else if (SINGLE.has(name)) throw fault('HEAD_MALFORMED', [`two ${name} headers`])
    else headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  if (size > bytes) throw fault('HEADERS_TOO_LARGE', [bytes])
  return headers
}
/** Colon, space, line end. */
const SEPARATORS = 4

export interface RequestHead {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: RequestHeaders
  readonly urlLimit: number
}
/** Refuses heads that Node accepts: ambiguous length, host or protocol. Throws a fault. */
export const checkHead = ({ method, target, version, headers, urlLimit }: RequestHead): void => {
  if (target.length > urlLimit) throw fault('URL_TOO_LONG', [urlLimit])
  if (version !== '1.1' && version !== '1.0')
    throw fault('HEAD_MALFORMED', [`HTTP/${version} is not supported`])
  const host = headers.host
  if (host === undefined ? version === '1.1' : !HOST.test(host))
    throw fault('HEAD_MALFORMED', ['the Host header names no host'])
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (version === '1.0') throw fault('HEAD_MALFORMED', ['Transfer-Encoding in HTTP/1.0'])
    if (coding.toLowerCase() !== 'chunked')
      throw fault('HEAD_MALFORMED', ['a Transfer-Encoding other than chunked'])
    if (headers['content-length'] !== undefined)
      throw fault('HEAD_MALFORMED', ['both Transfer-Encoding and Content-Length'])
  }
  const expect = headers.expect
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw fault('EXPECTATION_FAILED')
  if ((method === 'GET' || method === 'HEAD') && hasBody(headers))
    throw fault('HEAD_MALFORMED', [`a body on ${method}`])
}
export const hasBody = (headers: RequestHeaders): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')

/** Names listed in `Connection`, in lower case: they are not forwarded either. */
export const connectionNames = (
  connection: string | string[] | undefined,
): ReadonlySet<string> | undefined => {
  if (connection === undefined) return undefined
  const text = typeof connection === 'string' ? connection : connection.join(',')
  if (text === 'keep-alive' || text === 'close' || text === '') return undefined
  return new Set(text.split(',').map(name => name.trim().toLowerCase()))
}

/** Dropped from responses: headers of connection, cookies, origin, and the gateway's. */
const NEVER_DOWN = setOf(
  HOP_BY_HOP,
  'set-cookie set-cookie2 alt-svc strict-transport-security public-key-pins server date ' +
    'traceparent tracestate via',
)
/** About the account of the gateway at the upstream, or the network before it. */
const ABOUT_ACCOUNT = /rate-?limit|quota|billing|-organization(?:-id)?$|-project(?:-id)?$|^cf-/
const OURS = 'x-tollgate-'

/** The name of an upstream's header in the reply; empty: dropped. The upstream's own id gets
 *  another name, since the gateway sets `x-request-id`. */
const responseName = memoizeByName(name => {
  if (NEVER_DOWN.has(name) || UNSAFE_NAMES.has(name) || name.startsWith(OURS)) return ''
  if (ABOUT_ACCOUNT.test(name)) return ''
  return name === 'x-request-id' ? 'x-upstream-request-id' : name
})

/** The headers of an upstream's response that the reply has. */
export const responseHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Headers => {
  const output: Headers = {}
  const hopNames = connectionNames(headers.connection)
  for (const name in headers) {
    const value = headers[name]
    const downName = responseName(name)
    if (downName !== '' && value !== undefined && !hopNames?.has(name)) output[downName] = value
  }
  return output
}

/** Alternating names and values, without the headers that frame the message. */
export const withoutFraming = (headers: Headers): string[] => {
  const list: (string | string[])[] = []
  for (const name in headers)
    if (name !== 'content-length' && name !== 'connection') list.push(name, headers[name] ?? '')
  return list as string[]
}
