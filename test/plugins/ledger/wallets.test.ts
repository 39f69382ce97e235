/** Owner columns of wallets: also in a store from before these columns. */
import t from 'tap'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { migrations } from '../../../plugins/ledger/tables.ts'
import { balanceInSql, withFunds } from '../../../plugins/ledger/views/wallets.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store.ts'

/** Before the columns `account` and `key`. */
const OLD = migrations.filter(({ number }) => number < 9)
const WALLETS = [
  { id: walletOf.account(1), balance: 100, account: 1, key: null },
  { id: walletOf.account(2), balance: 200, account: 2, key: null },
  { id: walletOf.key(11), balance: 30, account: null, key: 11 },
]

for (const engine of ENGINES)
  t.test(`wallets: a migrated store has their owners, on ${engine}`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate('meter', OLD)
    const add = sql('old wallet', 'INSERT INTO wallets (id, balance) VALUES (?, ?)')
    await database.write(WALLETS.map(({ id, balance }) => ({ sql: add, values: [id, balance] })))
    await database.migrate('meter', migrations)
    const here = await store.open()
    const read = (text: string) => here.read(sql(text, text), [])
    t.same(await read('SELECT id, balance, account, key FROM wallets ORDER BY id'), WALLETS)
    const keys = 'SELECT 11 AS id, 2 AS account UNION ALL SELECT 12, 1 UNION ALL SELECT 13, 3'
    t.same(await read(withFunds(keys)), [
      { id: 11, account: 2, balance: 200, used: 0, own_balance: 30, own_used: 0 },
      { id: 12, account: 1, balance: 100, used: 0, own_balance: null, own_used: null },
      { id: 13, account: 3, balance: null, used: null, own_balance: null, own_used: null },
    ])
    t.same(await read(`SELECT ${balanceInSql('2')} AS two, ${balanceInSql('3')} AS three`), [
      { two: 200, three: 0 },
    ])
  })
