/** Queries of the account endpoints: credentials with their funds. */
import type { Sql } from '../../engine/plugin.ts'
import type { Kind } from '../credentials/secret.ts'
import {
  KEY_OF_DIGEST,
  keyRows,
  sessionRows,
  tokenRows,
  withKeyNames,
} from '../credentials/statements.ts'
import { sumsBy } from '../ledger/views/usage-lists.ts'
import { withFunds } from '../ledger/views/wallets.ts'

const sql = (name: string, text: string): Sql => ({ name: `account: ${name}`, text })

export const KEY_BY_DIGEST = sql('key by digest', withFunds(keyRows(`k.id = ${KEY_OF_DIGEST}`)))
/** The kinds of credentials that an account lists. */
export type OwnKind = Exclude<Kind, 'sign-in-link'>
/** Parameters: account, number. */
export const CREDENTIAL: Readonly<Record<OwnKind, Sql>> = {
  key: sql('key', withFunds(keyRows('k.account = ? AND k.id = ?'))),
  'system-token': sql('token', tokenRows('k.account = ? AND k.id = ?')),
  session: sql('session', sessionRows('k.account = ? AND k.id = ?')),
}
const PAGE = 'k.account = ? AND k.id > ? ORDER BY k.id LIMIT ?'
/** Parameters: account, the number to start after, row count. */
export const CREDENTIALS: Readonly<Record<OwnKind, Sql>> = {
  key: sql('keys', withFunds(keyRows(PAGE))),
  'system-token': sql('tokens', tokenRows(PAGE)),
  session: sql('sessions', sessionRows(PAGE)),
}
/** The usage sums of the ledger, with the name of each key. */
export const BY_KEY = sumsBy('key', withKeyNames)
