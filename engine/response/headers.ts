/** Which headers pass, in both directions, and which requests are refused for their head alone. Pure. */
import { errors } from '../errors.ts'
import type { Headers } from '../plugin.ts'

const fault = errors({
  HEAD_MALFORMED: [400, 'The request head is not acceptable: %s.'],
  HEADERS_TOO_MANY: [431, 'The request has more than %d headers.'],
  HEADERS_TOO_LARGE: [431, 'The headers of the request are larger than %d bytes.'],
  URL_TOO_LONG: [414, 'The request target is longer than %d bytes.'],
  EXPECTATION_FAILED: [417, 'The only expectation met here is "100-continue".'],
})

export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** RFC 9110 §7.6.1: what concerns one connection ends at that connection. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Headers whose second value would change the meaning of the message (RFC 9112 §3.2, §6.3). */
const SINGLE = new Set(['host', 'content-length', 'transfer-encoding', 'content-type', 'expect'])
/** Names that are members of every object: an attack on whoever keeps headers in one. */
const UNNAMEABLE = new Set(['__proto__', 'constructor', 'prototype', 'hasownproperty'])
// RFC 3986 reg-name, IPv4 or bracketed IPv6, and a port. `_` is no letter of a host, but real ones have it.
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** A verdict per name, kept: real traffic has few names. Whoever invents names is judged anew each time. */
export const remembered = <T extends boolean | string>(judge: (name: string) => T) => {
  const known = new Map<string, T>()
  return (name: string): T => {
    const verdict = known.get(name)
    if (verdict !== undefined) return verdict
    const judged = judge(name)
    if (known.size < NAMES_KEPT && name.length <= NAME_KEPT) known.set(name, judged)
    return judged
  }
}
const NAMES_KEPT = 500
const NAME_KEPT = 64
const lower = (name: string): string => name.toLowerCase()
/** As it is compared: made once of each spelling, since the parser makes every name anew. */
const nameOf = remembered(lower)

/** A record without a prototype. Of `Object.create(null)` V8 makes a hash table, which costs more to fill, to read and
 *  above all to walk; instances of this stay as fast as any object. */
export const Blank = function Blank() {} as unknown as { new (): Record<string, string> }
Blank.prototype = Object.create(null)

/** Raw name-value pairs as a record without a prototype, or a fault. */
export const readHead = (
  raw: readonly string[],
  limit: number,
  bytes = Number.POSITIVE_INFINITY,
): RequestHeaders => {
  if (raw.length > limit * 2) throw fault('HEADERS_TOO_MANY', [limit])
  let size = 0
  const headers = new Blank()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = nameOf(raw[at] as string)
    const value = raw[at + 1] as string
    size += name.length + value.length + SEPARATORS
    const before = headers[name]
    if (before === undefined) {
      if (UNNAMEABLE.has(name)) throw fault('HEAD_MALFORMED', [`a header may not be named ${name}`])
      headers[name] = value
    } else if (SINGLE.has(name)) throw fault('HEAD_MALFORMED', [`two ${name} headers`])
    else headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  if (size > bytes) throw fault('HEADERS_TOO_LARGE', [bytes])
  return headers
}
/** Colon, space, line end. */
const SEPARATORS = 4

export interface HeadFacts {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: RequestHeaders
  readonly urlLimit: number
}
/** What Node's parser lets through and a gateway must not: ambiguity about length, host or protocol. */
export const judgeHead = ({ method, target, version, headers, urlLimit }: HeadFacts): void => {
  if (target.length > urlLimit) throw fault('URL_TOO_LONG', [urlLimit])
  if (version !== '1.1' && version !== '1.0')
    throw fault('HEAD_MALFORMED', [`HTTP/${version} is not spoken here`])
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

/** Names listed in `Connection`, lower case: they end here too, whatever they are. */
const nominated = (connection: string | string[] | undefined): ReadonlySet<string> | undefined => {
  if (connection === undefined) return undefined
  const text = typeof connection === 'string' ? connection : connection.join(',')
  if (text === 'keep-alive' || text === 'close' || text === '') return undefined
  return new Set(text.split(',').map(name => name.trim().toLowerCase()))
}

/** What always passes to an upstream. The rest must be named by the operator: a list of what may leave cannot forget one. */
const PASS_UP = [
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
  'range',
  'idempotency-key',
]
/** Never sent up, whatever an operator lists: credentials of the customer, what the client itself reads, and where it
 *  claims to come from. */
const NEVER_UP = new Set([
  ...HOP_BY_HOP,
  'authorization',
  'cookie',
  'host',
  'content-length',
  'content-encoding', // bodies go up inflated
  'expect',
  'accept-encoding',
  'forwarded',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
])

/** The rule of one upstream: names, and prefixes ending in `*`. Compiled once; a name is judged once.
 *  `credentials`: names, in lower case, that pass as little as those listed here. */
export const passRule = (extra: readonly string[], credentials: readonly string[] = []) => {
  const never = new Set([...NEVER_UP, ...credentials])
  const names = new Set([...PASS_UP, ...extra.filter(name => !name.endsWith('*')).map(lower)])
  const prefixes = extra.filter(name => name.endsWith('*')).map(name => lower(name.slice(0, -1)))
  const passes = remembered(
    name =>
      !(never.has(name) || name.startsWith('x-forwarded-')) &&
      (names.has(name) || prefixes.some(prefix => name.startsWith(prefix))),
  )
  return (headers: RequestHeaders): Headers => {
    const passed: Headers = {}
    const dropped = nominated(headers.connection)
    for (const name in headers)
      if (passes(name) && !dropped?.has(name)) passed[name] = headers[name] as string
    return passed
  }
}

/** Of an upstream's reply: what concerns its connection, its cookies, its origin, and names that are ours to set. */
const NEVER_DOWN = new Set([
  ...HOP_BY_HOP,
  'set-cookie',
  'set-cookie2',
  'alt-svc',
  'strict-transport-security',
  'public-key-pins',
  'server',
  'date',
  'traceparent',
  'tracestate',
])
const OURS = 'x-tollgate-'

/** What a header of the reply is called on its way down; empty: it ends here. The upstream's own id stays findable
 *  under a name of its own, since `x-request-id` is the gateway's word. */
const nameDown = remembered(name => {
  if (NEVER_DOWN.has(name) || UNNAMEABLE.has(name) || name.startsWith(OURS)) return ''
  return name === 'x-request-id' ? 'x-upstream-request-id' : name
})

export const passDown = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Headers => {
  const passed: Headers = {}
  const dropped = nominated(headers.connection)
  for (const name in headers) {
    const value = headers[name]
    const down = nameDown(name)
    if (down !== '' && value !== undefined && !dropped?.has(name)) passed[down] = value
  }
  return passed
}

/** Names and values by turns, as Node writes them, without what frames the message: that is the sender's to say. */
export const unframed = (headers: Headers): string[] => {
  const list: (string | string[])[] = []
  for (const name in headers)
    if (name !== 'content-length' && name !== 'connection') list.push(name, headers[name] ?? '')
  return list as string[]
}
