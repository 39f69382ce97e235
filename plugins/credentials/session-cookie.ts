/** The cookie of a session of the console, and the token that shows that a change was made by the
 *  console's own page. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Exchange, Request } from '../../engine/plugin.ts'

/** Browsers accept a `__Host-` cookie only from this host, encrypted. */
const SECURE_NAME = '__Host-tollgate'
export const PLAIN_NAME = 'tollgate-session'
const LONGEST = 64

type RequestHeaders = Request['headers']

export const sessionCookie = ({ cookie }: RequestHeaders): string | undefined => {
  if (cookie === undefined) return undefined
  const pairs = cookie.split(/; */)
  for (const name of [SECURE_NAME, PLAIN_NAME]) {
    const pair = pairs.find(each => each.startsWith(`${name}=`))
    const value = pair?.slice(name.length + 1)
    if (value && value.length <= LONGEST) return value
  }
  return undefined
}

/** The header that stores a session, or with an empty text removes it. `seconds`: its life. */
export const setSessionCookie = (secret: string, seconds: number, isSecure: boolean): string => {
  const name = isSecure ? SECURE_NAME : PLAIN_NAME
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
  return `${name}=${secret}; ${attributes}${isSecure ? '; Secure' : ''}`
}

/** Scripts cannot read the cookie, so only a page that may read responses knows this token. */
export const csrfTokenOf = (session: string): string => hash('sha256', `csrf ${session}`)

/** Reading needs no token: the cookie is not sent with requests of other sites, and they could not
 *  read the response. */
export const isFromConsole = ({ kind, request }: Exchange, session: string): boolean => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && kind !== 'websocket') return true
  const token = Buffer.from(request.headers['x-csrf-token'] ?? '')
  const expected = Buffer.from(csrfTokenOf(session))
  return token.length === expected.length && timingSafeEqual(token, expected)
}
