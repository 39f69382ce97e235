/** Archived charges: complete files, unchanged sums, and no charge lost or kept twice when the
 *  process is killed. */
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Database, Exchange, Host, Row } from '../../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../../engine/store/database.ts'
import { receipt } from '../../../../plugins/account/receipt.ts'
import { archiveCharges, verifyArchives } from '../../../../plugins/ledger/archive/archive.ts'
import { readFile } from '../../../../plugins/ledger/archive/file.ts'
import { UNFINISHED } from '../../../../plugins/ledger/archive/statements.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { archiveCommand } from '../../../../plugins/ledger/commands/archive.ts'
import { refundStatements } from '../../../../plugins/ledger/refunds/refund-undelivered.ts'
import { migrations } from '../../../../plugins/ledger/tables.ts'
import { BY_DAY_AND_MODEL } from '../../../../plugins/ledger/views/overview.ts'
import { accountValuesIn } from '../../../../plugins/ledger/views/usage-days.ts'
import { refundCall } from '../../../../plugins/operator/money.ts'
import { requestDetails } from '../../../../plugins/operator/requests.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { forkProgram } from '../../../helpers/operator.ts'
import { createChance, shortOrLong } from '../../../helpers/run-settings.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore, temporaryFolder } from '../../../helpers/store/store.ts'

const DAY = 86_400_000
const NOW = Date.now()
const TODAY = Math.floor(NOW / DAY)
const BEFORE = (TODAY - 10) * DAY
const ACCOUNTS = 5
const SIZES = { file: 40, removal: 7 }

/** Charges of twenty days, every fifth one released, with the wallets that they leave. */
const fill = async (database: OpenDatabase, count: number): Promise<void> => {
  const write = (text: string) => database.write([{ sql: sql(text, text), values: [] }])
  for (let account = 1; account <= ACCOUNTS; account++)
    await giveCredit(database, account, 10n ** 12n)
  const rows = Array.from({ length: count }, (_, at) => {
    const opened = (TODAY - 20) * DAY + Math.floor((at * 20 * DAY) / count)
    const state = at % 5 === 4 ? 'open' : 'settled'
    const amount = state === 'settled' ? 100 + at : 0
    return `('req-${at}', ${1 + (at % ACCOUNTS)}, ${at % 3 === 0 ? 'NULL' : at % 3}, 'gone', 'r', 'm${at % 2}', 1, '{}', '${state}', 1000000,
      ${amount}, '{"input":${at},"cached":1}', '[]', ${opened}, ${opened + 500}, ${at % 4 === 0 ? 'NULL' : ACCOUNTS}, ${at % 7 === 0 ? `'task-${at}'` : 'NULL'},
      ${at % 5 === 1 ? "'[-7,9]'" : 'NULL'}, ${at % 3 === 2 ? 'NULL' : at % 3})`
  })
  await write(`INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held,
    amount, usage, lines, opened, closed, serial, task, budgets, member) VALUES ${rows.join()}`)
  await write("UPDATE charges SET state = 'released' WHERE state = 'open'")
  await write(`UPDATE wallets SET balance = balance - (SELECT sum(amount) FROM charges WHERE charges.account = wallets.account),
    used = (SELECT sum(amount) FROM charges WHERE charges.account = wallets.account) WHERE account IS NOT NULL`)
}
const allRows = (database: Pick<Database, 'read'>, text: string): Promise<readonly Row[]> =>
  database.read(sql(text, text), [])
const requestsIn = async (database: Pick<Database, 'read'>): Promise<string[]> =>
  (await allRows(database, 'SELECT request FROM charges ORDER BY request')).map(({ request }) =>
    String(request),
  )
/** The requests in the files that are recorded and complete. */
const archivedRequests = async (database: OpenDatabase, folder: string): Promise<string[]> => {
  const files = await allRows(database, 'SELECT file FROM archives ORDER BY id')
  const requests: string[] = []
  for (const { file } of files)
    for await (const rows of readFile(join(folder, String(file)), 100))
      requests.push(...rows.map(({ request }) => String(request)))
  return requests
}
const overviewOf = async (database: Pick<Database, 'read'>, account: number) => {
  const period = { from: (TODAY - 30) * DAY, to: NOW + 1 }
  return database.read(BY_DAY_AND_MODEL, [
    ...accountValuesIn(account, period, NOW),
    null,
    null,
    1_000,
  ])
}
const fault = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    error => error.code,
  )
const openFilled = async (t: Test, engine: (typeof ENGINES)[number], count: number) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  await makeLedger(database)
  await fill(database, count)
  return { store, database, folder: temporaryFolder(t) }
}

for (const engine of ENGINES)
  t.test(`archive on ${engine}`, async t => {
    const { database, folder } = await openFilled(t, engine, 200)
    await database.write(refundStatements('req-3', [8], NOW).slice(1))
    t.same(await audit(database), [])
    const before = {
      requests: await requestsIn(database),
      wallets: await allRows(database, 'SELECT id, balance, used FROM wallets ORDER BY id'),
      overviews: await Promise.all([1, 2, 3, 4, 5].map(each => overviewOf(database, each))),
      charges: await allRows(database, 'SELECT * FROM charges ORDER BY request'),
    }
    const result = await archiveCharges(database, { folder, before: BEFORE, sizes: SIZES })

    t.test('archive: files hold every old charge once, and the ledger the others', async t => {
      t.equal(result.charges, 100)
      t.equal(result.files.length, 3)
      const inFiles = await archivedRequests(database, folder)
      t.equal(inFiles.length, 100)
      t.same([...inFiles, ...(await requestsIn(database))].sort(), before.requests)
      const [file = ''] = result.files
      for await (const rows of readFile(join(folder, file), 100))
        for (const row of rows) {
          const old = before.charges.find(({ request }) => request === row.request) ?? {}
          t.equal(row.amount, String(old.amount))
          t.equal(JSON.stringify(row.usage), old.usage)
          t.equal(row.task ?? null, old.task)
          t.equal(JSON.stringify(row.budgets ?? null), String(old.budgets))
          t.equal(row.member ?? null, old.member)
          t.equal(row.closed, old.closed)
        }
    })
    t.test('archive: balances, sums of days and the audit stay as they were', async t => {
      t.same(
        await allRows(database, 'SELECT id, balance, used FROM wallets ORDER BY id'),
        before.wallets,
      )
      t.same(
        await Promise.all([1, 2, 3, 4, 5].map(each => overviewOf(database, each))),
        before.overviews,
      )
      t.ok(before.overviews.flat().length > 10)
      t.same(await audit(database), [])
    })
    t.test('archive: the audit still finds a balance or a day that is wrong', async t => {
      const damage = async (change: string, repair: string, rule: string) => {
        await database.write([{ sql: sql(change, change), values: [] }])
        t.ok((await audit(database)).some(finding => finding.rule === rule))
        await database.write([{ sql: sql(repair, repair), values: [] }])
      }
      await damage(
        'UPDATE archived_charges SET amount = amount + 1 WHERE account = 1',
        'UPDATE archived_charges SET amount = amount - 1 WHERE account = 1',
        'balance = sum of entries',
      )
      await damage(
        'UPDATE archived_days SET calls = calls + 1',
        'UPDATE archived_days SET calls = calls - 1',
        'sums of a day = its charges',
      )
      await damage(
        'UPDATE usage_days SET amount = amount + 1 WHERE account = 2',
        'UPDATE usage_days SET amount = amount - 1 WHERE account = 2',
        'sums of a day = its charges',
      )
      await damage(
        'UPDATE usage_days SET refunded = refunded + 1 WHERE account = 4',
        'UPDATE usage_days SET refunded = refunded - 1 WHERE account = 4',
        'sums of a day = its charges',
      )
      t.same(await audit(database), [])
    })
    t.test('archive: a store of an older version gets its archived refunds', async t => {
      const text = migrations.find(({ number }) => number === 16)?.text ?? ''
      await database.migrate('older version', [
        { number: 1, text: 'ALTER TABLE archived_days DROP COLUMN refunded' },
        { number: 2, text },
      ])
      const [row] = await allRows(database, 'SELECT sum(refunded) AS total FROM archived_days')
      t.equal(Number(row?.total), 103)
      t.same(await audit(database), [])
    })
    t.test('archive: receipts, requests and refunds of archived calls say so', async t => {
      const ask = (id: string, account: number) => {
        const exchange = { params: { id }, slots: { need: () => ({ id: account }) } }
        const host = { database } as unknown as Host
        return fault(Promise.resolve(receipt(host)(exchange as unknown as Exchange)))
      }
      t.equal(await ask('req-1', 2), 'RECEIPT_ARCHIVED')
      t.equal(await ask('task-7', 3), 'RECEIPT_ARCHIVED', 'by the id of its task')
      t.equal(await ask('req-1', 3), 'RECEIPT_UNKNOWN', 'not the charge of this account')
      t.equal(await ask('req-none', 2), 'RECEIPT_UNKNOWN')
      const requests = { find: async () => undefined }
      t.equal(
        await fault(requestDetails({ database, requests } as never, 'req-1')),
        'CHARGE_ARCHIVED',
      )
      t.equal(await fault(refundCall(database as never, 'req-1', 'late')), 'CHARGE_ARCHIVED')
    })
    t.test('archive: a second run finds nothing more', async t => {
      const again = await archiveCharges(database, { folder, before: BEFORE, sizes: SIZES })
      t.same(again, { files: [], charges: 0 })
      t.same(readdirSync(folder).sort(), ['SHA256SUMS', ...result.files].sort())
    })
    t.test(
      'archive verify: accepts the files, and names those that are changed or absent',
      async t => {
        const problems = async () =>
          (await verifyArchives(database, folder, undefined)).map(({ problem }) => problem)
        t.same(await problems(), [undefined, undefined, undefined])
        const [first = '', second = ''] = result.files
        const bytes = readFileSync(join(folder, first))
        writeFileSync(join(folder, first), bytes.with(bytes.length - 5, (bytes.at(-5) ?? 0) ^ 1))
        renameSync(join(folder, second), join(folder, 'elsewhere'))
        t.match(await problems(), [/damaged|SHA-256/, 'it is absent', undefined])
        writeFileSync(join(folder, first), bytes)
        renameSync(join(folder, 'elsewhere'), join(folder, second))
        t.same(await problems(), [undefined, undefined, undefined])
        t.equal(await fault(verifyArchives(database, folder, 'other.gz')), 'ARCHIVE_UNKNOWN')
        const row = `INSERT INTO charges (request, account, process, route, model, version, rule, state, held, opened, closed)
        VALUES ('req-1', 2, 'gone', 'r', 'm', 1, '', 'released', 0, ${NOW}, ${NOW})`
        await database.write([{ sql: sql('again', row), values: [] }])
        t.match(await problems(), ['the ledger still has 1 of its charges', undefined, undefined])
        await database.write([
          { sql: sql('remove', "DELETE FROM charges WHERE request = 'req-1'"), values: [] },
        ])
        writeFileSync(join(folder, first), readFileSync(join(folder, second)))
        t.match(await problems(), [/^its SHA-256 is \w+, the ledger has recorded/])
        writeFileSync(join(folder, first), bytes)
        const more = 'UPDATE archives SET charges = charges + 1, removed = removed + 1 WHERE id = 1'
        await database.write([{ sql: sql(more, more), values: [] }])
        t.match(await problems(), [/^it has 40 charges of \d+ nanos, not 41 of/])
      },
    )
    t.test('archive verify: prints each file, and exits with 1 where one differs', async t => {
      const { run } = archiveCommand.subcommands.verify
      const host = { database, folder: () => join(folder, 'none'), section: () => ({}) }
      const verify = (positionals: string[], to?: string) =>
        run({ positionals, values: to === undefined ? {} : { to } }, host as never)
      const [, second = ''] = result.files
      const all = await verify([], folder)
      t.match(all, {
        exit: 1,
        text: /: it has 40 charges .*\n.*: 40 charges, [\d.]+ CNY: as recorded/,
      })
      const one = await verify([join(folder, second)])
      t.match(one, { exit: 0, json: [{ file: second, charges: 40, problem: null }] })
      t.match(await verify([]), { exit: 1, text: /it is absent/ })
      const unfinished = 'UPDATE archives SET removed = removed - 1 WHERE id = 2'
      await database.write([{ sql: sql(unfinished, unfinished), values: [] }])
      const { text } = (await verify([join(folder, second)])) as { text: string }
      t.match(text, /not complete: run `tollgate archive` again$/)
      const none = 'DELETE FROM archives'
      await database.write([{ sql: sql(none, none), values: [] }])
      t.match(await verify([], folder), { exit: 0, text: 'nothing is archived' })
    })
  })

const archiveRun = archiveCommand.subcommands.create.run
t.test('archive: --before must be a date, at least seven days ago', async t => {
  const { database, folder } = await openFilled(t, 'sqlite', 20)
  const run = (before?: string) =>
    archiveRun({ values: { before, to: folder }, positionals: [] }, { database } as never)
  const dateAt = (day: number) => new Date(day * DAY).toISOString().slice(0, 10)
  t.equal(await fault(run()), 'USAGE')
  for (const text of ['yesterday', '2026-02-31', dateAt(TODAY - 6), dateAt(TODAY + 1)])
    t.equal(await fault(run(text)), 'ARCHIVE_RECENT', text)
  t.match(await run(dateAt(TODAY - 8)), {
    json: { charges: 12 },
    text: /^12 charges are in 1 files/,
  })
})

t.test('archive: says when another run has the file, and passes other faults on', async t => {
  const { database, folder } = await openFilled(t, 'sqlite', 20)
  const archiveWith = (code: string) => {
    const write = () => Promise.reject(Object.assign(new Error(code), { code }))
    return fault(archiveCharges({ ...database, write }, { folder, before: BEFORE, absence: 0 }))
  }
  t.equal(await archiveWith('ARCHIVE_TAKEN'), 'ARCHIVE_RUNNING')
  t.equal(await archiveWith('ARCHIVE_CHANGED'), 'ARCHIVE_RUNNING')
  t.equal(await archiveWith('STORE_UNAVAILABLE'), 'STORE_UNAVAILABLE')
})

t.test('archive: goes on when the store is back, and archives nothing twice', async t => {
  const { database, folder } = await openFilled(t, 'sqlite', 60)
  const all = await requestsIn(database)
  let writes = 0
  const write: Database['write'] = async list => {
    if (writes++ % 4 !== 1) return database.write(list)
    throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
  }
  const away = { ...database, write }
  const { charges } = await archiveCharges(away, { folder, before: BEFORE, sizes: SIZES })
  t.equal(charges, 30)
  const inFiles = await archivedRequests(database, folder)
  t.same([...inFiles, ...(await requestsIn(database))].sort(), all)
  t.same(await audit(database), [])
})

const KILLS = shortOrLong(6, 60)
/** More kills follow where a busy machine was too slow for one to meet a half-written file. */
const MAX_KILLS = KILLS + 60
for (const engine of ENGINES)
  t.test(
    `archive on ${engine}: no charge is lost or kept twice when the process is killed`,
    async t => {
      const chance = createChance()
      const { store, database, folder } = await openFilled(t, engine, 600)
      const all = await requestsIn(database)
      const wallets = 'SELECT id, balance, used FROM wallets ORDER BY id'
      const before = await allRows(database, wallets)
      const options = JSON.stringify({ folder, before: BEFORE, sizes: SIZES })
      let interrupted = 0
      for (let kill = 0; kill < KILLS || (interrupted === 0 && kill < MAX_KILLS); kill++) {
        const child = forkProgram(
          new URL('../../../fixtures/archive-charges.ts', import.meta.url),
          [JSON.stringify({ writeTimeout: 60_000, ...store.options }), options],
        )
        const exit = once(child, 'exit')
        await Promise.race([once(child, 'message'), exit])
        await pause(chance() * (60 + 15 * Math.max(0, kill - KILLS)))
        child.kill('SIGKILL')
        await exit
        t.same(await audit(database), [], 'the ledger balances after each kill')
        const [unfinished] = await allRows(database, UNFINISHED.text)
        if (unfinished) interrupted++
      }
      await archiveCharges(database, { folder, before: BEFORE, sizes: SIZES })
      t.ok(interrupted > 0, 'a kill left an unfinished file')
      const inFiles = await archivedRequests(database, folder)
      t.equal(inFiles.length, 300)
      t.same([...inFiles, ...(await requestsIn(database))].sort(), all)
      t.same(await allRows(database, wallets), before)
      t.same(await audit(database), [])
      const results = await verifyArchives(database, folder, undefined)
      t.same(results.map(({ problem }) => problem).filter(Boolean), [])
      t.ok(results.every(({ isComplete }) => isComplete))
    },
  )
