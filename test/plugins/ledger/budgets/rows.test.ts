/** Budgets of single owners: who reads their rows and when, rows that cannot be read, and the order
 *  of changes between processes. */
import t from 'tap'
import type { Host, Row } from '../../../../engine/plugin.ts'
import { configuredCurrency } from '../../../../plugins/billing/currency.ts'
import { Budgets, sharedBudgets } from '../../../../plugins/ledger/budgets/budgets.ts'
import { removeBudgetRow, setBudgetRow } from '../../../../plugins/ledger/budgets/rows.ts'
import type { Budget } from '../../../../plugins/ledger/budgets/section.ts'
import type { Ledger } from '../../../../plugins/ledger/ledger.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { openBooks } from '../../../helpers/money/ledger.ts'
import { ENGINES, sql } from '../../../helpers/store/store.ts'

const ACCOUNT = { id: 1, name: 'ann', role: 'customer' } as const
const MONTHLY: Budget = {
  name: 'monthly',
  of: 'account',
  amount: 1_000n,
  unit: 'money',
  per: 'month',
  zone: 'UTC',
  atLimit: 'refuse',
  isShadow: false,
  alertAt: [],
}
const currency = configuredCurrency({ section: () => ({}) as never })
const KEY = { kind: 'account', owner: 1, name: 'monthly' } as const

/** A store without rows that counts what is read, and its clock. */
const countingStore = () => {
  const store = { reads: 0, now: 0, isAway: false }
  const read = async (): Promise<readonly Row[]> => {
    store.reads++
    if (store.isAway) throw Object.assign(new Error('away'), { code: 'STORE_UNAVAILABLE' })
    return []
  }
  const database = { read, write: async () => [] }
  const ledger = { returnUnused: async () => {} } as unknown as Ledger
  const budgets = new Budgets([], {
    database,
    ledger,
    currency,
    log: SILENT_LOG,
    now: () => store.now,
  })
  return { store, budgets, database, ledger }
}

t.test('budgets: without any, calls neither read the store nor wait for it', async t => {
  const { store, budgets } = countingStore()
  const first = budgets.windowsOf(ACCOUNT, 1)
  t.ok(first instanceof Promise, 'a row may exist')
  t.equal(await first, undefined)
  t.equal(store.reads, 1)
  for (let run = 2; run < 20; run++) {
    store.now += 800
    for (let call = 0; call < 3; call++) t.equal(budgets.windowsOf(ACCOUNT, 1), undefined)
    await budgets.follow()
    t.equal(store.reads, run, 'the job alone reads')
  }
  store.isAway = true
  store.now += 10_000
  await budgets.follow()
  const { reads } = store
  t.equal(budgets.windowsOf(ACCOUNT, 1), undefined, 'no call waits while the store is away')
  t.equal(store.reads, reads)
  store.isAway = false
  store.now += 901
  t.ok(budgets.windowsOf(ACCOUNT, 1) instanceof Promise, 'the job is late: the rows may be old')
})

t.test('budgets: rows that were never read refuse calls while the store is away', async t => {
  const { store, budgets } = countingStore()
  store.isAway = true
  await budgets.follow()
  await t.rejects(async () => budgets.windowsOf(ACCOUNT, 1), { code: 'STORE_UNAVAILABLE' })
  store.isAway = false
  t.equal(await budgets.windowsOf(ACCOUNT, 1), undefined)
})

t.test('budgets: a job of each process reads changes, at once and then twice a second', async t => {
  const { store, database, ledger } = countingStore()
  const shared = new Map<string, object>()
  const jobs: { every: number; run: () => Promise<void>; more: unknown }[] = []
  let wakes = 0
  const host = {
    database,
    log: SILENT_LOG,
    section: () => ({}),
    config: { hash: 'a' },
    share: (key: string, _: string, create: () => object) => {
      const value = shared.get(key) ?? create()
      shared.set(key, value)
      return value
    },
    job: (_: string, every: number, run: () => Promise<void>, more: unknown) => {
      jobs.push({ every, run, more })
      return { wake: () => void wakes++ }
    },
  } as unknown as Host
  const budgets = sharedBudgets(host, ledger)
  t.match(jobs, [{ every: 500, more: { each: true } }])
  t.equal(wakes, 1)
  await jobs[0]?.run()
  t.equal(store.reads, 1)
  t.equal(budgets.windowsOf(ACCOUNT, 1), undefined, 'the first call does not wait either')
  t.equal(store.reads, 1)
})

for (const engine of ENGINES) {
  t.test(`budget rows on ${engine}: one that cannot be read is left out`, async t => {
    const { database, ledger: open } = await openBooks(t, engine)
    const ledger = await open()
    const lines: string[] = []
    const log = { warn: ({ budget }: { budget?: string }) => void lines.push(String(budget)) }
    const budgets = new Budgets([], { database, ledger, currency, log: log as never })
    const terms = { amount: 5, per: 'day' } as const
    await database.write(setBudgetRow({ ...KEY, name: 'known' }, 1, terms))
    await budgets.follow()
    const broken: Readonly<Record<string, string>> = {
      known: '{"amount":',
      null: 'null',
      list: '[]',
      number: '7',
      period: '{"amount":5,"per":"decade"}',
      zone: '{"amount":5,"per":"day","zone":"Nowhere/Else"}',
      zones: '{"amount":5,"per":"day","zone":5}',
      limit: '{"amount":5,"per":"day","at_limit":"explode"}',
      use: '{"amount":5,"per":"day","at_limit":{"to":"m"}}',
      shares: '{"amount":5,"per":"day","alert_at":["x"]}',
      share: '{"amount":5,"per":"day","alert_at":5}',
    }
    const spoil = sql('spoil', 'UPDATE budget_rows SET settings = ? WHERE name = ?')
    for (const [name, settings] of Object.entries(broken)) {
      await database.write(setBudgetRow({ ...KEY, name }, 1, terms))
      await database.write([{ sql: spoil, values: [settings, name] }])
    }
    await database.write(setBudgetRow({ ...KEY, name: 'later' }, 1, terms))
    for (let run = 0; run < 3; run++) await budgets.follow()
    t.same(lines, Object.keys(broken), 'one line each')
    const windows = (await budgets.windowsOf(ACCOUNT, Date.now())) ?? []
    t.same(
      windows.map(({ budget }) => budget.name),
      ['known', 'later'],
      'later changes are read; what applied before still does',
    )
    await database.write(setBudgetRow({ ...KEY, name: 'zone' }, 1, terms))
    await budgets.follow()
    t.equal((await budgets.windowsOf(ACCOUNT, Date.now()))?.length, 3, 'set again, it applies')
  })

  t.test(`budget rows on ${engine}: no process writes an earlier amount over a later`, async t => {
    const { database, ledger: open } = await openBooks(t, engine)
    const at = Date.now()
    const processOf = async () => {
      const source = { database, currency, log: SILENT_LOG, now: () => 0 }
      const budgets = new Budgets([MONTHLY], { ...source, ledger: await open() })
      await budgets.follow()
      return budgets
    }
    const balance = async () => {
      const [row] = await database.read(sql('b', 'SELECT balance FROM wallets WHERE id < 0'), [])
      return Number(row?.balance)
    }
    /** Their clocks show one time: no process reads a change by itself. */
    const amounts = async (budgets: Budgets) =>
      (await budgets.windowsOf(ACCOUNT, at))?.map(({ budget }) => Number(budget.amount))
    const set = (amount: string) => database.write(setBudgetRow(KEY, 1, { amount, per: 'month' }))

    const [newest, unopened, alsoUnopened] = [
      await processOf(),
      await processOf(),
      await processOf(),
    ]
    await set('0.0000002')
    await newest.follow()
    t.same(await amounts(newest), [200])
    t.same(await amounts(unopened), [200], 'it has read the change first')
    t.equal(await balance(), 200)

    const hasRow = await processOf()
    await set('0.0000001')
    await newest.follow()
    t.same(await amounts(newest), [100])
    t.same(await Promise.all([hasRow, alsoUnopened].map(amounts)), [[100], [100]])
    t.equal(await balance(), 100)

    const hasLower = await processOf()
    await database.write(removeBudgetRow(KEY))
    await newest.follow()
    t.same(await amounts(newest), [1_000])
    t.same(await amounts(hasLower), [1_000])
    t.equal(await balance(), 1_000)

    const first = await processOf()
    await set('0.0000003')
    t.same(await amounts(first), [300], 'also where no other process has opened the window')
    t.equal(await balance(), 300)
  })
}
