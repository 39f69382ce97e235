/** What an account, or one of its keys, has left and has used: nanos, read from the ledger. */
import type { Database, Row } from '../../engine/plugin.ts'
import { parseQuota } from '../billing/money.ts'
import { digestOf } from '../credentials/secret.ts'
import { nanosOf } from '../ledger/statements.ts'
import { readWallet } from '../ledger/views/wallets.ts'
import { CREDENTIAL, KEY_BY_DIGEST } from './statements.ts'

export interface Funds {
  readonly remaining: bigint
  readonly used: bigint
}
/** A key and what it may draw on: its own quota, or all that its account has. */
export interface KeyFunds extends Funds {
  readonly row: Row
  readonly limited: boolean
}
type Reads = Pick<Database, 'read'>

/** An account that was never given anything has nothing. */
export const fundsOf = async (database: Reads, account: number): Promise<Funds> => {
  const wallet = await readWallet(database, account)
  return { remaining: nanosOf(wallet?.balance), used: nanosOf(wallet?.used) }
}

/** Whoever holds it may ask, also when it is exhausted or expired; a revoked one is as good as none. Every secret, known
 *  or not, takes one hash and one look into the store. */
export const fundsOfSecret = async (
  database: Reads,
  secret: string,
): Promise<KeyFunds | undefined> => {
  const [row] = await database.read(KEY_BY_DIGEST, [digestOf(secret)])
  return row && row.revoked === null ? keyFunds(row) : undefined
}
export const fundsOfKey = async (
  database: Reads,
  account: number,
  key: number,
): Promise<KeyFunds | undefined> => {
  const [row] = await database.read(CREDENTIAL.key, [account, key])
  return row && keyFunds(row)
}

/** Its wallet is opened with its first call: until then the quota is whole. */
export const keyFunds = (row: Row): KeyFunds => {
  if (row.quota === null)
    return { row, limited: false, remaining: nanosOf(row.balance), used: nanosOf(row.used) }
  const whole = parseQuota(row.quota)
  const remaining = row.own_balance === null ? whole : nanosOf(row.own_balance)
  return { row, limited: true, remaining, used: nanosOf(row.own_used) }
}

/** As clients of such services know it: the first four, ten stars, the last four. */
export const masked = ({ prefix, last_four: last }: Row): string =>
  `${String(prefix).slice(0, 4)}**********${last}`
