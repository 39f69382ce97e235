/** The end of sessions by the identity provider: OpenID Connect Back-Channel Logout 1.0. */
import { asFault } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { Exchange, Host } from '../../engine/plugin.ts'
import { endProviderSessions } from '../credentials/identity-sessions.ts'
import { verifyLogout } from '../identity-provider/logout-token.ts'
import { shareClient } from '../identity-provider/share.ts'
import type { ClientSection } from '../identity-provider/sign-in-client.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { fault } from './faults.ts'

const PRIVATE = { 'cache-control': 'no-store' }

/** `POST /api/session/logout`: the identity provider ends sessions by a logout token. */
export const endByProvider = (host: Host): ((exchange: Exchange) => Promise<void>) => {
  const provider = shareClient(host)
  return async exchange => {
    if (!provider) throw fault('SIGN_IN_NO_PROVIDER')
    const { verifier, section } = provider
    try {
      const form = new URLSearchParams(Buffer.from(await exchange.request.bytes()).toString())
      const token = form.get('logout_token') ?? ''
      const logout = await verifyLogout(token, section as ClientSection, verifier.keys)
      const list = endProviderSessions(logout, await host.database.now())
      await writeWithRetry(host.database, list).catch(error => {
        throw isCode(error, 'LOGOUT_REPEATED') ? fault('LOGOUT_REPEATED') : error
      })
      exchange.answer(200, undefined, PRIVATE)
    } catch (error) {
      const { code, status, message } = asFault(error)
      host.log.warn({ code, reason: message }, 'a logout token was refused')
      // Back-Channel Logout 1.0 §2.8.
      const isBroken = status >= 500
      const body = isBroken
        ? { error: 'temporarily_unavailable', error_description: 'Try again' }
        : { error: 'invalid_request', error_description: message }
      exchange.answer(isBroken ? 503 : 400, body, PRIVATE)
    }
  }
}
