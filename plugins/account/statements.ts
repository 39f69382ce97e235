/** Queries of the account endpoints: credentials with their funds. */
import type { Sql } from '../../engine/plugin.ts'
import { withMemberNames } from '../credentials/members.ts'
import { KEY_OF_DIGEST, keyRows, withKeyNames } from '../credentials/statements.ts'
import { sumsBy } from '../ledger/views/usage-lists.ts'
import { withFunds } from '../ledger/views/wallets.ts'

const sql = (name: string, text: string): Sql => ({ name: `account: ${name}`, text })

export const KEY_BY_DIGEST = sql('key by digest', withFunds(keyRows(`k.id = ${KEY_OF_DIGEST}`)))
/** Parameters: account, number. */
export const KEY = sql('key', withFunds(keyRows('k.account = ? AND k.id = ?')))
/** The usage sums of the ledger, with the name of each key. */
export const BY_KEY = sumsBy('key', withKeyNames)
/** The same, with the name of each member. */
export const BY_MEMBER = sumsBy('member', withMemberNames)
export { presentName } from '../credentials/members.ts'
