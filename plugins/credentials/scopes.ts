/** Scopes of system tokens: what a token may do for its account. A token without one may do
 *  everything. */
import type { Route } from '../../engine/plugin.ts'
import type { Account, TokenScope } from '../slots.ts'
import { refusal } from './faults.ts'

/** Views of the plugin `account` that change API keys. */
const KEY_VIEWS: ReadonlySet<unknown> = new Set([
  'create-key',
  'update-key',
  'rotate-key',
  'revoke-key',
  'new-api-create',
  'new-api-update',
  'new-api-delete',
])
export const changesKeys = (route: Pick<Route, 'option'>): boolean =>
  KEY_VIEWS.has(route.option('account'))

/** `isRead`: the request changes nothing; `isOfKeys`: it changes API keys. Throws AUTH_SCOPE. */
export const requireScope = (
  { scope }: Pick<Account, 'scope'>,
  { isRead, isOfKeys }: { readonly isRead: boolean; readonly isOfKeys: boolean },
): void => {
  if (scope === undefined || isRead || (scope === 'keys' && isOfKeys)) return
  throw refusal('AUTH_SCOPE', [scope])
}
/** Of the row of a credential. */
export const scopeIn = (scope: unknown): { readonly scope?: TokenScope } =>
  scope === 'read' || scope === 'keys' ? { scope } : {}
