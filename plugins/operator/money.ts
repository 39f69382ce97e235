/** Changes of an account's money. */
import { setTimeout as pause } from 'node:timers/promises'
import { isCode } from '../../engine/kit.ts'
import type { Database, Row, Statement } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import { fault } from '../credentials/faults.ts'
import { findAccount, type NamedAccount } from '../credentials/find.ts'
import { addCredit, nanosOf, openWallet, setOverdraft, windowsOf } from '../ledger/statements.ts'
import { CHARGE, OPEN_HOLDS } from '../ledger/views/usage.ts'
import { creditAccount, readWallet } from '../ledger/views/wallets.ts'
import { walletOf } from '../ledger/wallet.ts'
import type { Store } from './operation.ts'
import { archivedFault } from './requests.ts'

export interface MoneyChange {
  readonly account: NamedAccount
  /** Nanos, above 0. */
  readonly amount: bigint
  readonly note: string
}

/** Adds money. Returns the number of the credit. Throws CREDIT_TOO_LARGE or CREDIT_UNCONFIRMED. */
export const addMoney = async (
  store: Store,
  { account, amount, note }: MoneyChange,
): Promise<number> => {
  const credit = { account: account.id, kind: 'credit', amount, note } as const
  const list = creditAccount({ ...credit, at: await store.now() })
  const id = await changeMoney(store, account, list, { credited: printMoney(amount), note })
    .catch(mapStoreError('CREDIT_TOO_LARGE', account.name))
    .catch(mapStoreError('STORE_UNKNOWN', account.name, 'CREDIT_UNCONFIRMED'))
  return id
}

/** Takes money. Returns the number of the debit. Throws DEBIT_TOO_LARGE or CREDIT_UNCONFIRMED. */
export const takeMoney = async (
  store: Store,
  { account, amount, note }: MoneyChange,
): Promise<number> => {
  const at = await store.now()
  const debit = { account: account.id, kind: 'debit', amount: -amount, note, at } as const
  const list = [openWallet(walletOf.account(account.id), 0n), addCredit(debit)]
  const take = () => changeMoney(store, account, list, { debited: printMoney(amount), note })
  return whenLeasesReturned(take, async () => (await payableOf(store, account.id)) >= amount)
    .catch(mapStoreError('OVERDRAWN', account.name, 'DEBIT_TOO_LARGE'))
    .catch(mapStoreError('STORE_UNKNOWN', account.name, 'CREDIT_UNCONFIRMED'))
}

/** Refunds the charge of a call. Throws CHARGE_UNKNOWN, NOTHING_CHARGED, ALREADY_REFUNDED or
 *  CREDIT_TOO_LARGE. */
export const refundCall = async (
  store: Store,
  request: string,
  note: string,
): Promise<{ readonly account: NamedAccount; readonly amount: bigint }> => {
  const [charge] = await store.read(CHARGE, [request])
  if (!charge) throw (await archivedFault(store, request)) ?? fault('CHARGE_UNKNOWN', [request])
  const amount = refundable(charge)
  const account = await accountOf(store, Number(charge.account))
  const windows = windowsOf(charge)
  const refund = { account: account.id, kind: 'refund', amount, request, windows, note } as const
  const list = creditAccount({ ...refund, at: await store.now() })
  await changeMoney(store, account, list, { refunded: printMoney(amount), request, note })
    .catch(mapStoreError('ALREADY_REFUNDED', request))
    .catch(mapStoreError('CREDIT_TOO_LARGE', account.name))
  return { account, amount }
}

/** Sets how far below zero an account may go. Throws OVERDRAWN. */
export const changeOverdraft = async (
  store: Store,
  account: NamedAccount,
  nanos: bigint,
): Promise<void> => {
  const wallet = walletOf.account(account.id)
  const list = [openWallet(wallet, 0n), setOverdraft(wallet, nanos)]
  await changeMoney(store, account, list, { overdraft: printMoney(nanos) }).catch(
    mapStoreError('OVERDRAWN', account.name),
  )
}

/** Returns the id of the last row. */
const changeMoney = async (
  store: Store,
  account: NamedAccount,
  list: readonly Statement[],
  after: { readonly [name: string]: string },
): Promise<number> => {
  const { name, balance, overdraft } = await fundsOf(store, account)
  const change = { object: `account ${account.id}`, before: { name, balance, overdraft }, after }
  const rows = await store.change(list, change)
  return Number(rows.at(-1)?.[0]?.id)
}

const ATTEMPTS = 6
/** ms. */
const PAUSE = 120
/** Retries a debit, since processes return unused leases to the balance within half a second.
 *  `isPayable`: whether the account could pay if no call held money. */
const whenLeasesReturned = async <T>(
  take: () => Promise<T>,
  isPayable: () => Promise<boolean>,
): Promise<T> => {
  for (let retries = ATTEMPTS; ; retries--) {
    try {
      return await take()
    } catch (error) {
      if (!isCode(error, 'OVERDRAWN') || retries === 0 || !(await isPayable())) throw error
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
    if (!isCode(error, 'ACCOUNT_UNKNOWN')) throw error
    return { id, name: String(id) }
  })

/** Balance, usage and overdraft in units of the currency. */
const fundsOf = async (database: Pick<Database, 'read'>, account: NamedAccount) => {
  const wallet = await readWallet(database, account.id)
  const [balance, used, overdraft] = [wallet?.balance, wallet?.used, wallet?.overdraft].map(value =>
    printMoney(nanosOf(value)),
  )
  return { ...account, balance: balance ?? '0', used: used ?? '0', overdraft: overdraft ?? '0' }
}
/** Open matters that keep an account from being deleted. `currency`: its code. */
export const reasonsToKeep = async (
  database: Pick<Database, 'read'>,
  account: number,
  currency: string,
): Promise<readonly string[]> => {
  const [wallet, [openHolds]] = await Promise.all([
    readWallet(database, account),
    database.read(OPEN_HOLDS, [account]),
  ])
  const [balance, onHold] = [nanosOf(wallet?.balance), nanosOf(openHolds?.held)]
  return [
    ...(balance === 0n ? [] : [`a balance of ${printMoney(balance)} ${currency}`]),
    ...(onHold === 0n
      ? []
      : [`running calls or open tasks, which hold ${printMoney(onHold)} ${currency}`]),
  ]
}

type Code = Parameters<typeof fault>[0]
/** Maps an error code of the store to a message for the operator. */
const mapStoreError =
  (code: Code | 'STORE_UNKNOWN', subject: string, faultCode = code as Code) =>
  (error: unknown): never => {
    throw isCode(error, code) ? fault(faultCode, [subject]) : error
  }
