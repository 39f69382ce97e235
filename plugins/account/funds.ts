/** Reads the remaining and used nanos of an account, or of one of its keys, from the ledger. */
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
/** A key and its funds: those of its quota, or all of its account. */
export interface KeyFunds extends Funds {
  readonly row: Row
  readonly limited: boolean
}
type Reads = Pick<Database, 'read'>

/** An account without credits has 0. */
export const fundsOf = async (database: Reads, account: number): Promise<Funds> => {
  const wallet = await readWallet(database, account)
  return { remaining: nanosOf(wallet?.balance), used: nanosOf(wallet?.used) }
}

/** Works for exhausted and expired keys too; undefined for unknown and revoked ones. Every secret takes
 *  one hash and one read, whether it exists or not. */
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

/** The wallet of a key is created by its first call: until then the whole quota remains. */
export const keyFunds = (row: Row): KeyFunds => {
  if (row.quota === null)
    return { row, limited: false, remaining: nanosOf(row.balance), used: nanosOf(row.used) }
  const whole = parseQuota(row.quota)
  const remaining = row.own_balance === null ? whole : nanosOf(row.own_balance)
  return { row, limited: true, remaining, used: nanosOf(row.own_used) }
}

/** The usual mask of such services: the first four characters, ten stars, the last four. */
export const masked = ({ prefix, last_four: last }: Row): string =>
  `${String(prefix).slice(0, 4)}**********${last}`
