/** Reads the remaining and used nanos of an account, or of one of its keys, from the ledger. */
import type { Database } from '../../engine/plugin.ts'
import { digestOf } from '../credentials/secret.ts'
import { nanosOf } from '../ledger/statements.ts'
import { OPEN_HOLDS } from '../ledger/views/usage.ts'
import { readWallet } from '../ledger/views/wallets.ts'
import { type KeyFunds, keyFunds } from '../operator/own-keys.ts'
import { KEY, KEY_BY_DIGEST } from './statements.ts'

/** Nanos. */
export interface Funds {
  readonly remaining: bigint
  readonly used: bigint
}
type Reads = Pick<Database, 'read'>

/** An account without credits has 0. */
export const fundsOf = async (database: Reads, account: number): Promise<Funds> => {
  const wallet = await readWallet(database, account)
  return { remaining: nanosOf(wallet?.balance), used: nanosOf(wallet?.used) }
}

/** Nanos that the open calls and tasks of an account hold. */
export const heldFunds = async (database: Reads, account: number): Promise<bigint> => {
  const [row] = await database.read(OPEN_HOLDS, [account])
  return nanosOf(row?.held)
}

/** The funds of an active, exhausted or expired key; undefined for an unknown or revoked key, and
 *  for an earlier secret that has ended. A lookup takes one hash and one read whether the key
 *  exists or not. */
export const fundsOfSecret = async (
  database: Reads,
  secret: string,
): Promise<KeyFunds | undefined> => {
  const [row] = await database.read(KEY_BY_DIGEST, [digestOf(secret), Date.now()])
  return row && row.revoked === null ? keyFunds(row) : undefined
}
export const fundsOfKey = async (
  database: Reads,
  account: number,
  key: number,
): Promise<KeyFunds | undefined> => {
  const [row] = await database.read(KEY, [account, key])
  return row && keyFunds(row)
}
