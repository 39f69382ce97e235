/** Sends many calls at once on money for ten: exactly ten are served and charged, at any gateway,
 *  and the balance never falls below zero. */
import type { Test } from 'tap'
import type { OpenDatabase } from '../../engine/store/database.ts'
import { audit } from '../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'
import { sql } from './store.ts'

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
