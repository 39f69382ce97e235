/** One-time links that sign in to the console: for the first start, and for accounts that have no
 *  system token yet. */
import type { HostBase, Statement } from '../../engine/plugin.ts'
import { makeSecret } from './secret.ts'
import { addLink } from './statements.ts'

/** ms until an unused link expires. */
const LIFE = 24 * 3_600_000
/** Where the console is, under the public address. */
export const CONSOLE_PATH = '/console'

export interface SignInLink {
  /** Shown once: the store has only the digest of its secret. */
  readonly url: string
  /** ms since 1970. */
  readonly expires: number
  readonly digest: string
  readonly statements: readonly Statement[]
}
interface LinkFor {
  readonly account: number
  /** The number of the member that it signs in. */
  readonly member?: number | undefined
  readonly issuer: string
  /** ms since 1970. */
  readonly now: number
}
/** `issuer`: the name of the account that made it. Browsers do not send the part after `#`, so that
 *  no log and no program that looks at links ahead uses it up. */
export const makeSignInLink = (
  { url }: Pick<HostBase, 'url'>,
  { account, member, issuer, now }: LinkFor,
): SignInLink => {
  const secret = makeSecret('sign-in-link')
  const expires = now + LIFE
  return {
    url: `${url(CONSOLE_PATH)}#link=${secret.text}`,
    expires,
    digest: secret.digest,
    statements: addLink({ account, member, name: issuer, secret, expires }, now),
  }
}
