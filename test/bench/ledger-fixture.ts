/** Ledger rows of the bench: credit for its account, and a year of charges of other accounts. */
import type { Statement } from '../../engine/plugin.ts'
import { openDatabase } from '../../engine/store/database.ts'
import { addCredit, openWallet } from '../../plugins/ledger/statements.ts'
import { walletOf } from '../../plugins/ledger/wallet.ts'

export interface LedgerSize {
  readonly charges: number
  readonly accounts: number
}
/** ms; a write of a million rows takes minutes. */
const WRITE_TIMEOUT = 300_000
const AMOUNT = 10n ** 15n

/** Credits account 1, which the first start creates. */
export const creditBenchAccount = (data: string, url?: string): Promise<void> =>
  write(
    data,
    [
      openWallet(walletOf.account(1), 0n),
      addCredit({ account: 1, kind: 'credit', amount: AMOUNT, note: 'bench', at: Date.now() }),
    ],
    url,
  )

/** Adds settled charges of other accounts, with credits that cover them. */
export const fillLedger = (data: string, { charges, accounts }: LedgerSize): Promise<void> =>
  write(data, [
    {
      sql: {
        name: 'bench: wallets',
        text: `WITH RECURSIVE n (at) AS (SELECT 1000 UNION ALL SELECT at + 1 FROM n WHERE at < 999 + ?)
          INSERT INTO wallets (id) SELECT at * 2 FROM n`,
      },
      values: [accounts],
    },
    {
      sql: {
        name: 'bench: credits',
        text: `INSERT INTO credits (id, account, kind, amount, note, at)
          SELECT id / 2, id / 2, 'credit', 1000000000000, 'bench', 0 FROM wallets WHERE id >= 2000`,
      },
      values: [],
    },
    {
      sql: {
        name: 'bench: charges',
        text: `WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?)
          INSERT INTO charges (request, account, process, route, model, version, rule, state, held, amount, usage, lines,
            opened, closed)
          SELECT printf('req_%032x', at), 1000 + at * 7919 % ?, 'gone', 'POST /v1/chat/completions', 'bench-plain', 1,
            '{"price":[]}', 'settled', 10000000, 93600, '{"input":152,"output":118}',
            '[{"meter":"input","quantity":"152","price":"0.15","per":"1M","nanos":"22800"}]', at, at FROM n`,
      },
      values: [charges, accounts],
    },
    {
      sql: {
        name: 'bench: paid',
        text: `UPDATE wallets SET balance = balance - total, used = total
          FROM (SELECT account, sum(amount) AS total FROM charges GROUP BY account) paid
          WHERE wallets.account = paid.account AND paid.account >= 1000`,
      },
      values: [],
    },
  ])

/** Gives account 1, which the first start creates, settled charges: one a minute until now. */
export const fillUsage = async (data: string, charges: number): Promise<void> => {
  await creditBenchAccount(data)
  await write(data, [
    {
      sql: {
        name: 'bench: usage',
        text: `WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?)
          INSERT INTO charges (request, account, process, route, model, version, rule, state, held, amount, usage, lines,
            opened, closed)
          SELECT printf('req_%032x', at), 1, 'gone', 'chat', 'gp-4.1', 1,
            '{"price":[]}', 'settled', 10000000, 93600 + at, '{"input":152,"output":118}',
            '[{"meter":"input","quantity":"152","price":"0.15","per":"1M","nanos":"22800"}]',
            ? - at * 60000, ? - at * 60000 FROM n`,
      },
      values: [charges, Date.now(), Date.now()],
    },
  ])
}

const write = async (data: string, list: readonly Statement[], url = 'sqlite:'): Promise<void> => {
  const database = await openDatabase({ url, data, writeTimeout: WRITE_TIMEOUT })
  await database.write(list)
  await database.close()
}
