/** The cookies of a sign-in by the identity provider: the secret of one that has begun, and the ID
 *  token, which the provider wants to see at sign-out. Neither is in the store. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { cookieIn, hasSecureUrl } from '../credentials/session-cookie.ts'
import { CONSOLE_PATH } from '../credentials/sign-in-link.ts'
import { shareProvider } from '../identity-provider/share.ts'

type Secure = Pick<Host, 'url'>
interface Cookie {
  readonly name: string
  /** Of its name over TLS: browsers accept it only from there. */
  readonly prefix: string
  readonly path: string
  readonly site: 'Lax' | 'Strict'
}
// The provider sends the browser back from another site: Lax.
const FLOW: Cookie = { name: 'tollgate-sign-in', prefix: '__Host-', path: '/', site: 'Lax' }
const HINT: Cookie = {
  name: 'tollgate-identity',
  prefix: '__Secure-',
  path: '/api/session',
  site: 'Strict',
}
/** s within which a person signs in at the provider. */
const FLOW_LIFE = 600
/** Browsers ignore longer cookies. */
const LONGEST = 3_800
const NONE = { value: '', life: 0 }

const isSecure = (host: Secure, { request: { client } }: Exchange): boolean =>
  client.encrypted || hasSecureUrl(host)
const read = (host: Secure, exchange: Exchange, { name, prefix }: Cookie): string | undefined =>
  cookieIn(exchange.request.headers.cookie, isSecure(host, exchange) ? `${prefix}${name}` : name)
/** `life`: s. */
const write = (
  host: Secure,
  exchange: Exchange,
  { name, prefix, path, site }: Cookie,
  { value, life }: { readonly value: string; readonly life: number },
) => {
  const [before, after] = isSecure(host, exchange) ? [prefix, '; Secure'] : ['', '']
  return `${before}${name}=${value}; Path=${path}; Max-Age=${life}; HttpOnly; SameSite=${site}${after}`
}

export const flowCookie = (host: Secure) => ({
  read: (exchange: Exchange) => read(host, exchange, FLOW),
  set: (exchange: Exchange, secret: string) =>
    write(host, exchange, FLOW, { value: secret, life: FLOW_LIFE }),
  remove: (exchange: Exchange) => write(host, exchange, FLOW, NONE),
})
/** `seconds`: the life of the session. */
export const hintCookie = (
  host: Secure,
  exchange: Exchange,
  idToken: string,
  seconds: number,
): string => {
  const value = idToken.length > LONGEST ? 'long' : idToken
  return write(host, exchange, HINT, { value, life: seconds })
}

/** Of a session that the provider began; `addressOf`: undefined for other sessions, and where the
 *  provider has no such page. */
export const providerSignOut = (host: Host) => {
  const client = shareProvider(host)?.client
  return {
    async addressOf(exchange: Exchange): Promise<string | undefined> {
      const hint = read(host, exchange, HINT)
      if (!hint || !client) return undefined
      const idToken = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(hint) ? hint : undefined
      return client.signOutAddress(idToken, host.url(CONSOLE_PATH))
    },
    remove: (exchange: Exchange): readonly string[] =>
      read(host, exchange, HINT) === undefined ? [] : [write(host, exchange, HINT, NONE)],
  }
}
