/** Sessions of the console that the identity provider begins. */
import { isCode } from '../../engine/kit.ts'
import type { Exchange, Host } from '../../engine/plugin.ts'
import { refusal } from '../credentials/faults.ts'
import { giveSessionToIdentity } from '../credentials/identity-sessions.ts'
import { addSession } from '../credentials/statements.ts'
import { providerDigest } from '../identity-provider/logout-token.ts'
import type { ProviderClient } from '../identity-provider/share.ts'
import type { SignedIn } from '../identity-provider/sign-in-client.ts'
import { newSession } from './sessions.ts'
import { writeSignIn } from './sign-in-actions.ts'

/** The secret of the new session. Rejects with AUTH_… or IDENTITY_…. */
export const beginProviderSession = async (
  host: Host,
  exchange: Exchange,
  { keys, section: { issuer } }: ProviderClient,
  { identity, subject, sid }: SignedIn,
): Promise<string> => {
  const { id, name, role, member, key } = await keys.find(identity)
  const now = await host.database.now()
  const session = newSession(host, exchange, { account: id, member: member?.id }, now)
  const list = [
    ...addSession(session, undefined, now),
    giveSessionToIdentity(session.secret.digest, {
      identity: key?.id ?? 0,
      user: providerDigest(issuer, subject),
      session: sid === undefined ? undefined : providerDigest(issuer, sid),
      role: member && identity.role,
    }),
  ]
  const row = { account: id, account_name: name, role }
  await writeSignIn(host, exchange, row, list).catch(error => {
    throw isCode(error, 'KEY_UNKNOWN') ? refusal('AUTH_REVOKED') : error
  })
  const { prefix, text } = session.secret
  host.log.info({ account: id, session: prefix, by: 'provider' }, 'signed in to the console')
  return text
}
