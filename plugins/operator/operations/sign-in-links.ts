/** Makes links that sign in to the console once, for accounts and for members of teams. */
import { makeSignInLink } from '../../credentials/sign-in-link.ts'
import type { SignInLinkView } from '../../views.ts'
import type { Context } from '../operation.ts'
import { isoTime } from '../rows.ts'

interface Owner {
  readonly account: number
  /** The number of a member of the team. */
  readonly member?: number
}
/** `object` and `link` name the owner in the record of the change. */
export const issueLink = async (
  { host, store, actor, now }: Context,
  owner: Owner,
  { object, link }: { readonly object: string; readonly link: string },
): Promise<SignInLinkView> => {
  const signIn = makeSignInLink(host, { ...owner, issuer: actor.name, now })
  const expires = isoTime(signIn.expires)
  await store.change(signIn.statements, { object, before: null, after: { link, expires } })
  return { url: signIn.url, expires }
}
