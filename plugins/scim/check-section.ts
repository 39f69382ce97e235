/** Problems of the section `scim:` that its schema cannot see. */
import { isFields, routesIn } from '../../engine/kit.ts'
import type { Document, Report } from '../../engine/plugin.ts'

export const checkSection = ({ scim, identity, ...document }: Document, report: Report): void => {
  if (!isFields(scim)) return
  const problem = (path: readonly string[], message: string) => report(path, 'SCIM_OPTION', message)
  const views = routesIn(document as Document).map(([, route]) => route.scim)
  if (!views.includes('Users'))
    problem(
      ['scim'],
      'no route serves it: add tollgate:scim.yaml to `include:`, and `scim` to `pipeline:`',
    )
  if (scim.account === undefined && scim.accounts === undefined)
    problem(['scim'], 'users are members of no team: add `account:` or `accounts:`')
  if (!isFields(identity)) return
  if (identity.member === undefined)
    problem(
      ['identity'],
      'tokens name no member, so those of deactivated users work; add `member:`',
    )
  if (identity.create !== undefined)
    problem(['identity', 'create'], 'with `scim:` tokens create nothing; remove it')
}
