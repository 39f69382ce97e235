/** Sign-in with a system token or a one-time link, the present session, and sign-out. */
import { isFields } from '../../engine/kit.ts'
import type { Exchange, Host, Json, Row, Statement } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { memberIn } from '../credentials/members.ts'
import { claimedKind, digestOf, isWellFormed, makeSecret } from '../credentials/secret.ts'
import {
  csrfTokenOf,
  hasSecureUrl,
  sessionCookie,
  setSessionCookie,
} from '../credentials/session-cookie.ts'
import { addSession, FIND, revoke } from '../credentials/statements.ts'
import { ACCOUNT, type Account } from '../slots.ts'
import type { SessionView } from '../views.ts'
import { fault } from './faults.ts'
import { providerSignOut } from './provider-cookies.ts'
import { consoleSettings, mayEdit } from './section.ts'
import { recordRefusedSignIn, writeSignIn, writeSignOut } from './sign-in-actions.ts'
import { SignInLimits } from './sign-in-limits.ts'

type Handle = (exchange: Exchange) => Promise<void>
const PRIVATE = { 'cache-control': 'no-store' }
/** Name of a session: what the browser says it is. */
const LONGEST_NAME = 100

const answer = (exchange: Exchange, data: Json, ...cookies: readonly string[]): void => {
  const headers = { ...PRIVATE, ...(cookies.length > 0 && { 'set-cookie': [...cookies] }) }
  exchange.answer(200, { success: true, message: '', data }, headers)
}

/** `POST /api/session` with `{ token }` or `{ link }`. */
export const signIn = (host: Host): Handle => {
  const limits = new SignInLimits(host)
  return async exchange => {
    const { request } = exchange
    // A form of another site cannot send JSON; `validate` refuses other bodies.
    const site = request.headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw fault('SIGN_IN_ORIGIN')
    const { token, link } = fieldsOf(await request.json())
    const credential = token ?? link ?? ''
    const begin = () => beginSession(host, exchange, credential, token === undefined)
    const { secret, account } = await limits.limit(request.client.address, credential, begin)
    answer(exchange, sessionView(host, account, secret), cookieOf(host, exchange, secret))
  }
}
const fieldsOf = (body: Json): { readonly token?: string; readonly link?: string } =>
  isFields(body) ? (body as { token?: string; link?: string }) : {}

const beginSession = async (host: Host, exchange: Exchange, text: string, isLink: boolean) => {
  const { database } = host
  const kind = isLink ? 'sign-in-link' : 'system-token'
  const now = await database.now()
  const isCredential = isWellFormed(text) && claimedKind(text) === kind
  const [row] = isCredential ? await database.read(FIND[kind], [digestOf(text)]) : []
  if (!isAdmitted(row, now)) {
    const refusal = refusalOf(row, now, text, isLink)
    await recordRefusedSignIn(host, exchange, row, refusal.code)
    throw refusal
  }
  if (!isLink && row.scope != null) {
    await recordRefusedSignIn(host, exchange, row, 'SIGN_IN_SCOPE')
    throw fault('SIGN_IN_SCOPE', [row.scope])
  }
  const account = Number(row.account)
  const member = memberIn(row)
  const full = newSession(host, exchange, { account, member: member.member?.id }, now)
  // A session ends with the secret that began it; a link only begins one.
  const end = isLink || row.expires === null ? Number.POSITIVE_INFINITY : Number(row.expires)
  const session = { ...full, expires: Math.min(full.expires, end) }
  const { secret } = session
  const list: readonly Statement[] = [
    // Of two uses of a link at once, one is refused by the store.
    ...(isLink ? revoke(kind, Number(row.id), now) : []),
    ...addSession(session, isLink ? undefined : Number(row.id), now),
  ]
  await writeSignIn(host, exchange, row, list).catch(error => {
    throw error.code === 'KEY_UNKNOWN' ? refusalOf(undefined, now, text, isLink) : error
  })
  host.log.info({ account, session: secret.prefix, by: kind }, 'signed in to the console')
  const role = row.role === 'admin' ? 'admin' : 'customer'
  return {
    secret: secret.text,
    account: { id: account, name: String(row.account_name), role, ...member },
  }
}
/** A session with a secret of its own, whatever cookie the browser sent. */
export const newSession = (
  host: Host,
  { request }: Exchange,
  owner: { readonly account: number; readonly member: number | undefined },
  now: number,
) => ({
  ...owner,
  name: (request.headers['user-agent'] ?? '').slice(0, LONGEST_NAME),
  secret: makeSecret('session'),
  expires: now + consoleSettings(host).session,
})
const isAdmitted = (row: Row | undefined, now: number): row is Row =>
  isValid(row, now) && row?.suspended === null
const isValid = (row: Row | undefined, now: number): boolean =>
  row?.revoked === null && (row.expires === null || Number(row.expires) > now)
/** No refusal says which part of a credential is wrong. */
const refusalOf = (row: Row | undefined, now: number, text: string, isLink: boolean) => {
  if (isValid(row, now)) return fault('SIGN_IN_SUSPENDED')
  if (isLink) return fault('SIGN_IN_LINK')
  return fault(claimedKind(text) === 'key' ? 'SIGN_IN_KEY' : 'SIGN_IN_TOKEN')
}

/** The header that gives the session to the browser. */
export const cookieOf = (host: Host, exchange: Exchange, secret: string): string =>
  setSessionCookie(
    secret,
    Math.floor(consoleSettings(host).session / 1_000),
    isSecure(host, exchange),
  )
const isSecure = (host: Host, { request }: Exchange): boolean =>
  request.client.encrypted || hasSecureUrl(host)

const sessionView = (
  host: Host,
  { id, name, role, member }: Pick<Account, 'id' | 'name' | 'member'> & { readonly role: string },
  secret: string,
): SessionView => {
  const { admin } = consoleSettings(host)
  const isAdmin = role === 'admin'
  return {
    account: { id, name, role },
    member: member ? { id: member.id, name: member.name, role: member.role } : null,
    csrf: csrfTokenOf(secret),
    url: host.url(''),
    currency: configuredCurrency(host).name,
    admin: isAdmin && admin,
    edit: isAdmin && admin && mayEdit(host),
    titles: isAdmin && admin ? titlesOf(host) : {},
  }
}
const titlesOf = ({ upstreams }: Pick<Host, 'upstreams'>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(upstreams).flatMap(([name, { title }]) =>
      title === undefined || title === name ? [] : [[name, title]],
    ),
  )

/** `GET /api/session`: who is signed in, and the token for changes. */
export const showSession =
  (host: Host): Handle =>
  async exchange => {
    const secret = sessionCookie(exchange.request, hasSecureUrl(host)) ?? ''
    answer(exchange, sessionView(host, exchange.slots.need(ACCOUNT), secret))
  }

/** `DELETE /api/session`: the session ends in the store, so that a copied cookie is useless. If the
 *  identity provider began it, `data.url` is the page that ends its session, too. */
export const signOut = (host: Host): Handle => {
  const { addressOf, remove } = providerSignOut(host)
  return async exchange => {
    const { session = 0 } = exchange.slots.need(ACCOUNT)
    const list = revoke('session', session, await host.database.now())
    await writeSignOut(host, exchange, list).catch(error => {
      if (error.code !== 'KEY_UNKNOWN') throw error
    })
    const url = await addressOf(exchange)
    const cookies = [setSessionCookie('', 0, isSecure(host, exchange)), ...remove(exchange)]
    answer(exchange, url === undefined ? null : { url }, ...cookies)
  }
}
