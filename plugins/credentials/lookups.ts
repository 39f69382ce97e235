/** Shares the lookups of credentials between all routes of a process. */
import type { HostBase } from '../../engine/plugin.ts'
import { Credentials } from './credentials.ts'
import { FailedAuthLimiter } from './failed-auth-limiter.ts'
import { offerOwnerLookup } from './work-owner.ts'

/** The lookups of this process, shared by all routes and the admin listener; other plugins can ask
 *  about the owner of accepted work from now on. */
export const shareLookups = (host: Pick<HostBase, 'share' | 'database'>) => {
  offerOwnerLookup(host)
  return {
    credentials: host.share('accounts/credentials', '1', () => new Credentials(host.database)),
    limiter: host.share('accounts/failed-auth-limiter', '1', () => new FailedAuthLimiter()),
  }
}
