/** The rows of the large store: the audit passes them, and pages of the first account have some. */
import t from 'tap'
import { locate } from '../../../engine/store/database.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { readStatement } from '../../../plugins/ledger/views/account-statements.ts'
import { dayOf } from '../../../plugins/ledger/views/usage-days.ts'
import { migrations as taskTables } from '../../../plugins/task/tables.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { ENGINES, startAnyStore } from '../../helpers/store/store.ts'
import { fillPostgres, fillSqlite } from './fixture.ts'
import { FIRST_ACCOUNT } from './rows.ts'

const SIZE = { charges: 2_000, keys: 40, accounts: 20 }
for (const engine of ENGINES)
  t.test(`bench fixture on ${engine}: the ledger balances, and statements add up`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await database.migrate('task', taskTables)
    const { url, data } = store.options
    if (engine === 'sqlite') fillSqlite(locate(url, data).file, SIZE)
    else await fillPostgres(url, SIZE)
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
