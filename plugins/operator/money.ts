/** Changes of an account's money by an operator, for commands and admin endpoints. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Row, Value } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { fault } from '../credentials/faults.ts'
import { findAccount, type NamedAccount } from '../credentials/find.ts'
import { addCredit, type Credit, nanosOf, openWallet, setOverdraft } from '../ledger/statements.ts'
import { CHARGE } from '../ledger/views/usage.ts'
import { creditAccount, readWallet } from '../ledger/views/wallets.ts'
import { walletOf } from '../ledger/wallet.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { archivedFault } from './requests.ts'

type Store = Pick<Database, 'read' | 'write' | 'now'>
export interface MoneyChange {
  readonly account: NamedAccount
  /** Nanos, above 0. */
  readonly amount: bigint
  readonly note: string
}

/** Adds money. Returns the number of the credit. Throws CREDIT_TOO_LARGE or CREDIT_UNCONFIRMED. */
export const addMoney = async (
  database: Store,
  { account, amount, note }: MoneyChange,
): Promise<number> => {
  const credit = { account: account.id, kind: 'credit', amount, note } as const
  const list = creditAccount({ ...credit, at: await database.now() })
  const rows = await writeWithRetry(database, list)
    .catch(mapStoreError('CREDIT_TOO_LARGE', account.name))
    .catch(mapStoreError('STORE_UNKNOWN', account.name, 'CREDIT_UNCONFIRMED'))
  return Number(rows.at(-1)?.[0]?.id)
}

/** Takes money. Returns the number of the debit. Throws DEBIT_TOO_LARGE or CREDIT_UNCONFIRMED. */
export const takeMoney = async (
  database: Store,
  { account, amount, note }: MoneyChange,
): Promise<number> => {
  const debit = {
    account: account.id,
    kind: 'debit',
    amount: -amount,
    note,
  } as const
  const rows = await debitWithRetry(database, { ...debit, at: await database.now() })
    .catch(mapStoreError('OVERDRAWN', account.name, 'DEBIT_TOO_LARGE'))
    .catch(mapStoreError('STORE_UNKNOWN', account.name, 'CREDIT_UNCONFIRMED'))
  return Number(rows.at(-1)?.[0]?.id)
}

/** Refunds the charge of a call. Throws CHARGE_UNKNOWN, NOTHING_CHARGED, ALREADY_REFUNDED or
 *  CREDIT_TOO_LARGE. */
export const refundCall = async (
  database: Store,
  request: string,
  note: string,
): Promise<{ readonly account: NamedAccount; readonly amount: bigint }> => {
  const [charge] = await database.read(CHARGE, [request])
  if (!charge) throw (await archivedFault(database, request)) ?? fault('CHARGE_UNKNOWN', [request])
  const amount = refundable(charge)
  const account = await accountOf(database, Number(charge.account))
  const credit = {
    account: account.id,
    kind: 'refund',
    amount,
    request,
    note,
  } as const
  await writeWithRetry(database, creditAccount({ ...credit, at: await database.now() }))
    .catch(mapStoreError('ALREADY_REFUNDED', request))
    .catch(mapStoreError('CREDIT_TOO_LARGE', account.name))
  return { account, amount }
}

/** Sets how far below zero an account may go. Throws OVERDRAWN. */
export const changeOverdraft = async (
  database: Store,
  account: NamedAccount,
  nanos: bigint,
): Promise<void> => {
  const wallet = walletOf.account(account.id)
  const list = [openWallet(wallet, 0n), setOverdraft(wallet, nanos)]
  await writeWithRetry(database, list).catch(mapStoreError('OVERDRAWN', account.name))
}

const ATTEMPTS = 6
/** ms. */
const PAUSE = 120
/** Retries a debit, since processes return unused leases to the balance within half a second. */
const debitWithRetry = async (database: Pick<Database, 'read' | 'write'>, debit: Credit) => {
  const list = [openWallet(walletOf.account(debit.account), 0n), addCredit(debit)]
  for (let retries = ATTEMPTS; ; retries--) {
    try {
      return await writeWithRetry(database, list)
    } catch (error) {
      const overdrawn = (error as { readonly code?: string }).code === 'OVERDRAWN'
      if (!overdrawn || retries === 0 || (await payableOf(database, debit.account)) < -debit.amount)
        throw error
      await pause(PAUSE)
    }
  }
}
/** Nanos that the account could pay if no call held any. */
const payableOf = async (database: Pick<Database, 'read'>, account: number): Promise<bigint> => {
  const row = await readWallet(database, account)
  return nanosOf(row?.balance) + nanosOf(row?.overdraft)
}

const refundable = ({ state, amount, request }: Row): bigint => {
  const nanos = nanosOf(amount)
  if (state !== 'settled' || nanos === 0n) throw fault('NOTHING_CHARGED', [request, state])
  return nanos
}

/** An account without a row gets its number as its name. */
const accountOf = (database: Pick<Database, 'read'>, id: number): Promise<NamedAccount> =>
  findAccount(database, String(id)).catch(error => {
    if (error.code !== 'ACCOUNT_UNKNOWN') throw error
    return { id, name: String(id) }
  })

/** Balance, usage and overdraft in units of the currency. */
export const fundsOf = async (database: Pick<Database, 'read'>, account: NamedAccount) => {
  const wallet = await readWallet(database, account.id)
  const print = (value: Value | undefined) => printMoney(nanosOf(value))
  const [balance, used] = [print(wallet?.balance), print(wallet?.used)]
  return { ...account, balance, used, overdraft: print(wallet?.overdraft) }
}
type Code = Parameters<typeof fault>[0]
/** Maps an error code of the store to a message for the operator. */
const mapStoreError =
  (code: Code | 'STORE_UNKNOWN', subject: string, faultCode = code as Code) =>
  (error: { readonly code?: string }): never => {
    throw error.code === code ? fault(faultCode, [subject]) : error
  }
