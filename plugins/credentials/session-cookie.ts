/** The cookie of a session of the console, and the token that shows that a change was made by the
 *  console's own page. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Exchange, HostBase, Request } from '../../engine/plugin.ts'

/** Browsers accept a `__Host-` cookie only from this host, encrypted. */
const SECURE_NAME = '__Host-tollgate'
const PLAIN_NAME = 'tollgate-session'
export const cookieName = (isSecure: boolean): string => (isSecure ? SECURE_NAME : PLAIN_NAME)
const LONGEST = 64

/** Whether browsers reach the gateway by TLS, its own or that of a proxy. */
export const hasSecureUrl = ({ url }: Pick<HostBase, 'url'>): boolean =>
  url('/').startsWith('https:')

/** The secret of the session. Over TLS a cookie without the prefix is ignored: a page of a sibling
 *  domain can set one, to sign a browser in to another account. */
export const sessionCookie = (
  { headers: { cookie }, client }: Pick<Request, 'headers' | 'client'>,
  isSecure: boolean,
): string | undefined => {
  const value = cookieIn(cookie, cookieName(isSecure || client.encrypted))
  return value && value.length <= LONGEST ? value : undefined
}
/** The value of a cookie in the header of a request. */
export const cookieIn = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(/; */)
    .find(each => each.startsWith(`${name}=`))
    ?.slice(name.length + 1)

/** The header that stores a session, or with an empty text removes it. `seconds`: its life. */
export const setSessionCookie = (secret: string, seconds: number, isSecure: boolean): string => {
  const name = cookieName(isSecure)
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
