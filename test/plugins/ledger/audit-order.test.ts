/** The audit orders the entries of an account as the store wrote them, independently of clocks. */
import t, { type Test } from 'tap'
import type { Value } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { singleRowCharge } from '../../../plugins/ledger/single-row-charge.ts'
import { settleCharge } from '../../../plugins/ledger/statements.ts'
import { migrations } from '../../../plugins/ledger/tables.ts'
import { walletOf, walletsOf } from '../../../plugins/ledger/wallet.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { type Books, call, openBooks, payerOf } from '../../helpers/money/ledger.ts'
import { ledgerOn } from '../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const HOUR = 3_600_000
const PREFIX = 'balance never below the overdraft'
/** Before the column `serial`. */
const OLD = migrations.filter(({ number }) => number < 8)

const settlementAt = (closedAt: number) => ({
  amount: 100n,
  uncollected: 0n,
  isEstimated: false,
  usage: '{}',
  lines: '[]',
  closedAt,
  wallets: walletsOf(1, undefined),
})
/** Inserts a settled charge. No trigger runs, so the charge appears in no other sum. */
const insertCharge = (
  { database }: Pick<Books, 'database'>,
  {
    account,
    ...row
  }: { account: number; request: string; closedAt: number; serial: number | null },
) =>
  database.write([
    {
      sql: sql(
        'plant',
        `INSERT INTO charges (request, account, process, route, model, version, rule, state, held, amount, opened,
           closed, serial) VALUES (?, ?, 'gone', 'r', 'm', 1, '{}', 'settled', 100, 100, 0, ?, ?)`,
      ),
      values: [row.request, account, row.closedAt, row.serial],
    },
  ])
const overdraftFindings = async ({
  database,
}: Pick<Books, 'database'>): Promise<readonly string[]> =>
  (await audit(database)).filter(({ rule }) => rule === PREFIX).map(({ subject }) => subject)

for (const engine of ENGINES)
  t.test(`audit order on ${engine}`, async t => {
    const books = await openBooks(t, engine)
    const { database } = books

    t.test(
      'audit: reports nothing when a clock is set back between a credit and its charges',
      async t => {
        const ledger = await books.ledger()
        const now = Date.now()
        await giveCredit(database, 1, 200n, now)
        await call(books, ledger, 'back-1', payerOf(1), 100n)
        await database.write([settleCharge({ request: 'back-1', ...settlementAt(now - HOUR) })])
        t.equal(await ledger.take(payerOf(1), 100n), undefined)
        const hold = {
          request: 'back-2',
          account: 1,
          key: undefined,
          holdsKeyQuota: false,
          heldAmount: 100n,
          process: await ledger.process(),
          route: 'r',
          model: 'm',
          version: 1,
          rule: '',
          openedAt: now - HOUR,
        }
        await database.write(singleRowCharge(hold, settlementAt(now - HOUR), {}))
        const next = now - 2 * HOUR
        await giveCredit(database, 1, 50n, next)
        t.same(await audit(database), [])
        t.match(await books.wallet(1), { balance: 50n })
      },
    )

    t.test('audit: finds an overdraft in store order when clocks hide it', async t => {
      const [lastCredit] = await books.rows('SELECT max(id) AS id FROM credits')
      await giveCredit(database, 2, 100n, 0)
      const before = { account: 2, request: 'early', closedAt: Date.now() }
      await insertCharge(books, { ...before, serial: Number(lastCredit?.id) })
      t.same(await overdraftFindings(books), ['account 2'])
    })
  })

for (const engine of ENGINES)
  t.test(`audit order on ${engine}: a store from before the column serial is migrated`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate('meter', OLD)
    const now = Date.now()
    await giveCredit(database, 1, 300n, now)
    await settleWithoutSerial(t, { database }, now - HOUR)
    await database.migrate('meter', migrations)
    const migrated = await store.open()
    const ledger = ledgerOn(migrated)
    t.teardown(() => ledger.close())
    t.same(await audit(migrated), [], 'a clock that was set back is not a finding')
    await giveCredit(migrated, 1, 10n, now - 2 * HOUR)
    const after = await call({ database: migrated }, ledger, 'new', payerOf(1), 100n)
    await after.settle?.(100n)
    t.same(await audit(migrated), [])
    const read = (text: string, ...values: readonly Value[]) =>
      migrated.read(sql(text, text), values)
    t.same(await read('SELECT request, serial FROM charges ORDER BY request'), [
      { request: 'new', serial: 2 },
      { request: 'old', serial: null },
    ])
    t.match(await read('SELECT balance FROM wallets WHERE id = ?', walletOf.account(1)), [
      { balance: 110 },
    ])
    for (const request of ['more', 'and more', 'too much'])
      await insertCharge({ database: migrated }, { account: 1, request, closedAt: 0, serial: null })
    t.same(
      await overdraftFindings({ database: migrated }),
      ['account 1'],
      'more than all credits of the account',
    )
  })

/** Settles a call like a version without the column `serial`. */
const settleWithoutSerial = async (
  t: Test,
  { database }: Pick<Books, 'database'>,
  closedAt: number,
) => {
  const ledger = ledgerOn(database)
  t.equal(await ledger.take(payerOf(1), 100n), undefined)
  const hold = `INSERT INTO charges (request, account, process, route, model, version, rule, state, held, opened)
    VALUES ('old', 1, ?, 'chat', 'm', 1, '{}', 'open', 100, ?)`
  await database.write([
    { sql: sql('old hold', hold), values: [await ledger.process(), Date.now()] },
  ])
  const text =
    "UPDATE charges SET state = 'settled', amount = 100, usage = '{}', lines = '[]', closed = ? WHERE request = 'old'"
  await database.write([{ sql: sql('settle without serial', text), values: [closedAt] }])
  await ledger.close()
}
