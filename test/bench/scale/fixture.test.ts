/** The rows of the large store: the audit passes them, and pages of the first account have some. */
import t, { type Test } from 'tap'
import type { OpenDatabase } from '../../../engine/store/open-database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { readStatement } from '../../../plugins/ledger/views/account-statements.ts'
import { dayOf } from '../../../plugins/ledger/views/usage-days.ts'
import { migrations as taskTables } from '../../../plugins/task/tables.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { ENGINES, type Engine, startAnyStore, startStore } from '../../helpers/store/store.ts'
import { fillPostgres, fillSqlite } from './fixture.ts'
import { FIRST_ACCOUNT } from './rows.ts'

const SIZE = { charges: 2_000, keys: 40, accounts: 20 }
/** An empty ledger, which is filled while nothing else has its file open. */
const FILLED: Readonly<Record<Engine, (t: Test) => Promise<OpenDatabase>>> = {
  async sqlite(t) {
    const store = await startStore(t)
    await makeTables(await store.open())
    await store.kill()
    fillSqlite(store.address.file, SIZE)
    await store.respawn()
    return store.open()
  },
  async postgres(t) {
    const store = await startAnyStore(t, 'postgres')
    const database = await store.open()
    await makeTables(database)
    await fillPostgres(store.options.url, SIZE)
    return database
  },
}
const makeTables = async (database: OpenDatabase): Promise<void> => {
  await makeLedger(database)
  await database.migrate('task', taskTables)
}
for (const engine of ENGINES)
  t.test(`bench fixture on ${engine}: the ledger balances, and statements add up`, async t => {
    const database = await FILLED[engine](t)
    t.same(await audit(database), [])
    const today = dayOf(Date.now())
    const year = { first: today - 366, last: today + 1 }
    const { charged, lines, tags } = await readStatement(database, FIRST_ACCOUNT, year)
    t.equal(charged, 200n * 93_600n, 'a tenth of the charges')
    t.ok(lines.length > 100)
    t.same(
      tags.map(({ tag }) => tag),
      ['project=alpha', 'project=beta'],
    )
  })
