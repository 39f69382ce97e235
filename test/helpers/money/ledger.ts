/** Opens a ledger over a real store: wallets with money, handmade calls, and the sums that must
 *  always hold. */
import type { Test } from 'tap'
import type { Sql } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import type { Ledger, Payer } from '../../../plugins/ledger/ledger.ts'
import {
  addCredit,
  openCharge,
  openWallet,
  releaseCharge,
  settleCharge,
} from '../../../plugins/ledger/statements.ts'
import { walletOf, walletsOf } from '../../../plugins/ledger/wallet.ts'
import { ledgerOn, makeLedger } from '../store/membership.ts'
import { type Engine, sql, startAnyStore } from '../store/store.ts'
import { giveCredit } from './credit.ts'

const testSql = (text: string): Sql => ({ name: `test: ${text}`, text })

/** The hold of a call that an account pays. */
export const HELD_CALL = {
  request: 'r',
  account: 1,
  key: undefined,
  holdsKeyQuota: false,
  process: 'p',
  route: 'chat',
  model: 'm',
  version: 1,
  rule: '{}',
  heldAmount: 9n,
  openedAt: 7,
}

export interface Books {
  readonly database: OpenDatabase
  /** Opens another process's ledger on the same store. */
  ledger(): Promise<Ledger>
  credit(account: number, amount: bigint): Promise<void>
  /** The row of an account's wallet; amounts in nanos. */
  wallet(account: number): Promise<Readonly<Record<string, bigint>>>
  rows(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export const openBooks = async (t: Test, engine: Engine = 'sqlite'): Promise<Books> => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  await makeLedger(database)
  const rows = (text: string) => database.read(testSql(text), [])
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

export const payerOf = (account: number, key?: number, quota?: bigint): Payer => ({
  account,
  key,
  quota,
})

/** Makes a call as the meter does, in its own lists: a hold, and then its settlement or release. */
export const call = async (
  { database }: Pick<Books, 'database'>,
  ledger: Ledger,
  request: string,
  payer: Payer,
  holdAmount: bigint,
) => {
  const shortfall = await ledger.take(payer, holdAmount)
  if (shortfall) return { shortfall }
  const process = await ledger.process()
  const facts = { route: 'chat', model: 'm', version: 1, rule: '{}', openedAt: Date.now() }
  await database.write([
    openCharge({
      request,
      account: payer.account,
      key: payer.key,
      member: payer.member,
      process,
      heldAmount: holdAmount,
      holdsKeyQuota: payer.quota !== undefined,
      ...facts,
    }),
  ])
  return {
    shortfall,
    async settle(amount: bigint, uncollected = 0n) {
      const wallets = walletsOf(payer.account, payer.key)
      const how = { isEstimated: false, usage: '{}', lines: '[]', closedAt: Date.now(), wallets }
      await database.write([settleCharge({ request, amount, uncollected, ...how })])
      ledger.give(payer, holdAmount - amount, process)
    },
    async release() {
      await database.write([releaseCharge(request, Date.now())])
      ledger.give(payer, holdAmount, process)
    },
  }
}

const UNIT = 1_000_000_000n
const TEN = 10

/** `account` has no money. `ask`: sends one call that costs a unit; resolves to its status. */
export const spendTenUnits = async (
  t: Test,
  database: OpenDatabase,
  account: number,
  calls: number,
  ask: (at: number) => Promise<number>,
): Promise<void> => {
  const credit = { account, kind: 'credit', amount: BigInt(TEN) * UNIT } as const
  await database.write([
    openWallet(walletOf.account(account), 0n),
    addCredit({ ...credit, note: 'test', at: Date.now() }),
  ])
  const askUntilServed = async (at: number): Promise<number> => {
    for (;;) {
      const status = await ask(at)
      // An overloaded gateway answers 503: clients try again.
      if (status !== 503) return status
    }
  }
  const statuses = await Promise.all(Array.from({ length: calls }, (_, at) => askUntilServed(at)))
  t.equal(statuses.filter(status => status === 200).length, TEN)
  t.equal(statuses.filter(status => status === 403).length, calls - TEN)
  const read = async (text: string) => (await database.read(sql(`test: ${text}`, text), []))[0]
  t.match(await read(`SELECT balance FROM wallets WHERE id = ${walletOf.account(account)}`), {
    balance: 0,
  })
  t.match(await read("SELECT count(*) AS open FROM charges WHERE state = 'open'"), { open: 0 })
  t.same(await audit(database), [])
}
