/** A ledger over a real store: wallets with money in them, calls made by hand, and the sums that must always hold. */
import type { Test } from 'tap'
import type { Sql } from '../../engine/plugin.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import type { Ledger, Payer } from '../../plugins/ledger/ledger.ts'
import { openCharge, releaseCharge, settleCharge } from '../../plugins/ledger/statements.ts'
import { walletOf, walletsOf } from '../../plugins/ledger/wallet.ts'
import { giveCredit } from './credit.ts'
import { ledgerOn, makeLedger } from './membership.ts'
import { type Engine, startAnyStore } from './store.ts'

const sql = (text: string): Sql => ({ name: `test: ${text}`, text })

export interface Books {
  readonly database: OpenDatabase
  /** Another process's ledger on the same store. */
  ledger(): Promise<Ledger>
  credit(account: number, amount: bigint): Promise<void>
  /** Nanos, by account. */
  wallet(account: number): Promise<Readonly<Record<string, bigint>>>
  rows(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export const openBooks = async (t: Test, engine: Engine = 'sqlite'): Promise<Books> => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  await makeLedger(database)
  const rows = (text: string) => database.read(sql(text), [])
  return {
    database,
    rows,
    async ledger() {
      const own = await store.open()
      const ledger = ledgerOn(own)
      t.teardown(() => ledger.close())
      return ledger
    },
    credit: (account, amount) => giveCredit(database, account, amount),
    async wallet(account) {
      const [row] = await rows(`SELECT * FROM wallets WHERE id = ${walletOf.account(account)}`)
      const amounts = Object.entries(row ?? {}).filter(([, value]) => value !== null)
      return Object.fromEntries(amounts.map(([k, v]) => [k, BigInt(v as number)]))
    },
  }
}

export const payer = (account: number, key?: number, quota?: bigint): Payer => ({
  account,
  key,
  quota,
})

/** A call as the meter makes it, in its own lists: held, and then closed. */
export const call = async (
  { database }: Pick<Books, 'database'>,
  ledger: Ledger,
  request: string,
  who: Payer,
  held: bigint,
) => {
  const lack = await ledger.take(who, held)
  if (lack) return { lack }
  const process = await ledger.process()
  const facts = { route: 'chat', model: 'm', version: 1, rule: '{}', openedAt: Date.now() }
  await database.write([
    openCharge({
      ...{ request, account: who.account, key: who.key, process, heldAmount: held },
      ...{ holdsKeyQuota: who.quota !== undefined, ...facts },
    }),
  ])
  return {
    lack,
    async settle(amount: bigint, uncollected = 0n) {
      const wallets = walletsOf(who.account, who.key)
      const how = { isEstimated: false, usage: '{}', lines: '[]', closedAt: Date.now(), wallets }
      await database.write([settleCharge({ request, amount, uncollected, ...how })])
      ledger.give(who, held - amount, process)
    },
    async release() {
      await database.write([releaseCharge(request, Date.now())])
      ledger.give(who, held, process)
    },
  }
}
