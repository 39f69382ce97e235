/** Sign-in to the console by the identity provider: authorization code with PKCE, state and nonce.
 *  Refusals are shown by the page of the console, in the language of the user. */
import { asFault } from '../../engine/errors.ts'
import type { Exchange, Host } from '../../engine/plugin.ts'
import { CONSOLE_PATH } from '../credentials/sign-in-link.ts'
import { beginFlow, resumeFlow } from '../identity-provider/code-flow.ts'
import { type ProviderClient, shareClient } from '../identity-provider/share.ts'
import { fault } from './faults.ts'
import { flowCookie, hintCookie } from './provider-cookies.ts'
import { beginProviderSession } from './provider-session.ts'
import { consoleSettings } from './section.ts'
import { cookieOf } from './sessions.ts'
import { recordRefusedSignIn } from './sign-in-actions.ts'
import { SignInLimits } from './sign-in-limits.ts'

type Handle = (exchange: Exchange) => Promise<void>
const PRIVATE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
const BEGIN_PATH = '/api/session/provider'
const CALLBACK_PATH = '/api/session/callback'

/** Where the sign-in begins; undefined: the gateway is not a client of a provider. */
export const signInAddress = (host: Host): string | undefined =>
  shareClient(host) && host.url(BEGIN_PATH)

const redirect = (exchange: Exchange, location: string, cookies: readonly string[]): void => {
  const headers = { ...PRIVATE, ...(cookies.length > 0 && { 'set-cookie': [...cookies] }) }
  exchange.answer(302, undefined, { ...headers, location })
}
/** Sends the browser to the sign-in page, which explains the code. */
const showRefusal = (host: Host, exchange: Exchange, error: unknown, cookies: string[]): void => {
  const { code, message } = asFault(error)
  host.log.warn({ code, reason: message, request: exchange.id }, 'a sign-in was refused')
  const query = new URLSearchParams({ refused: code, request: exchange.id })
  redirect(exchange, `${host.url(CONSOLE_PATH)}#${query}`, cookies)
}

/** `GET /api/session/provider`: sends the browser to the identity provider. */
export const beginProviderSignIn = (host: Host): Handle => {
  const provider = shareClient(host)
  const cookie = flowCookie(host)
  return async exchange => {
    if (!provider) throw fault('SIGN_IN_NO_PROVIDER')
    try {
      const flow = beginFlow()
      const { client } = provider
      const address = await client.authorizationAddress(flow, host.url(CALLBACK_PATH))
      redirect(exchange, address, [cookie.set(exchange, flow.secret)])
    } catch (error) {
      showRefusal(host, exchange, error, [])
    }
  }
}

/** `GET /api/session/callback`: the identity provider sends the browser back with a code. */
export const finishProviderSignIn = (host: Host): Handle => {
  const provider = shareClient(host)
  const limits = new SignInLimits(host)
  const cookie = flowCookie(host)
  return async exchange => {
    if (!provider) throw fault('SIGN_IN_NO_PROVIDER')
    const { request } = exchange
    const secret = cookie.read(exchange) ?? ''
    const finish = () => finishFlow(host, exchange, provider, secret)
    // Each sign-in is tried once.
    const cookies = [cookie.remove(exchange)]
    try {
      const session = await limits.limit(request.client.address, secret, finish)
      redirect(exchange, host.url(CONSOLE_PATH), [...cookies, ...session])
    } catch (error) {
      await recordRefusedSignIn(host, exchange, undefined, asFault(error).code)
      showRefusal(host, exchange, error, cookies)
    }
  }
}
/** The cookies of the new session. */
const finishFlow = async (
  host: Host,
  exchange: Exchange,
  provider: ProviderClient,
  secret: string,
) => {
  const { query } = exchange.request
  const flow = resumeFlow(secret, query.get('state'))
  if (!flow) throw fault('SIGN_IN_STATE')
  const { client } = provider
  await client.checkIssuer(query.get('iss'))
  const code = query.get('code')
  if (query.has('error') || !code) throw fault('SIGN_IN_DENIED', [reasonIn(query)])
  const signedIn = await client.signIn(code, flow, host.url(CALLBACK_PATH))
  const session = await beginProviderSession(host, exchange, provider, signedIn)
  const seconds = Math.floor(consoleSettings(host).session / 1_000)
  return [cookieOf(host, exchange, session), hintCookie(host, exchange, signedIn.idToken, seconds)]
}
/** Only words that RFC 6749 has; a link may contain any text. */
const reasonIn = (query: URLSearchParams): string => {
  const error = query.get('error') ?? 'no code'
  return /^[a-z_ ]{1,40}$/.test(error) ? error : 'unknown'
}
