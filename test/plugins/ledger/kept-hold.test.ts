/** Holds that a stage behind `meter` takes over: they outlive the process, on both stores. */
import t, { type Test } from 'tap'
import type { Exchange, Plugin, Statement } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { keepHold, keptHoldOf, releaseKept, settleKept } from '../../../plugins/ledger/kept-hold.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { migrations } from '../../../plugins/ledger/tables.ts'
import { chargeLate } from '../../../plugins/ledger/views/task-charges.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import { HOLD, type KeptHold } from '../../../plugins/slots.ts'
import { installOn, post } from '../../helpers/gateway/installation.ts'
import { pluginOf } from '../../helpers/gateway/test-server.ts'
import { HELD_CALL } from '../../helpers/money/ledger.ts'
import { reapAll } from '../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const PLENTY = 1_000_000_000_000n
/** Nanos that a call holds: 0.05 a second for ten seconds. */
const HELD_NANOS = 500_000_000n
const DOCUMENT = {
  models: { film: { to: 'main/film', price: { calls: '0.5' } } },
}
const USED = { meters: { calls: 1 }, estimated: false }

const start = async (t: Test, engine: (typeof ENGINES)[number], onKeep?: (e: Exchange) => void) => {
  const here = await installOn(t, await startAnyStore(t, engine))
  const task: Stage = {
    answers: true,
    async handle(exchange) {
      const hold = exchange.slots.need(HOLD).keep()
      onKeep?.(exchange)
      await exchange.writes.commit()
      exchange.answer(200, hold)
    },
  }
  const stages = { model: model as Plugin, meter: meter as Plugin, task: pluginOf(task) }
  const { url } = await here.worker({ stages, document: DOCUMENT, route: { model: 'body' } })
  const account = walletOf.account(1)
  const credit = { account: 1, kind: 'credit', amount: PLENTY, note: 'test', at: 1 } as const
  await here.database.write([openWallet(account, 0n), addCredit(credit)])
  const create = () => post(`${url}/a`, '', { body: JSON.stringify({ model: 'film' }) })
  return {
    database: here.database,
    create,
    async createHold(): Promise<KeptHold> {
      const { text, status } = await create()
      t.equal(status, 200, text)
      return JSON.parse(text)
    },
    async wallet() {
      const text = `SELECT balance, reserved, used FROM wallets WHERE id = ${account}`
      const [row] = await here.database.read(sql(text, text), [])
      return { spent: PLENTY - BigInt(Number(row?.balance)), used: BigInt(Number(row?.used)) }
    },
    /** Nanos that kept holds reserve, once every process is reaped. */
    async reservedAfterCrash() {
      await reapAll(here.database)
      t.same(await audit(here.database), [])
      const text = `SELECT reserved FROM wallets WHERE id = ${account}`
      const [row] = await here.database.read(sql(text, text), [])
      return BigInt(Number(row?.reserved))
    },
  }
}
type Stage = import('../../../engine/plugin.ts').Stage

t.test(
  'kept hold: leaves the share of the wallets that it reserves, and keeps the key',
  async t => {
    const hold = { ...HELD_CALL, key: 5, holdsKeyQuota: true }
    const shareOf = (more: Partial<typeof hold>, stored = true) =>
      keepHold({ ...hold, ...more }, stored)
        .at(-1)
        ?.values.slice(2)
    const [account, key] = [walletOf.account(1), walletOf.key(5)]
    t.same(shareOf({}), [account, key])
    t.same(shareOf({}, false), [account, key])
    t.same(shareOf({ holdsKeyQuota: false }), [account, account])
    t.same(
      keepHold({ ...hold, key: undefined }, true)
        .at(-1)
        ?.values.slice(2),
      [account, account],
    )
    t.match(keepHold({ ...hold, heldAmount: 0n }, true), [{ otherwise: 'LEASE_GONE', rows: 1 }])
    t.same(keepHold({ ...hold, heldAmount: 0n }, true).length, 1, 'nothing to leave')
    t.match(keptHoldOf(hold, '{"tier":"fast"}'), {
      key: 5,
      held: '9',
      attributes: { tier: 'fast' },
    })
    t.match(keptHoldOf({ ...hold, key: undefined }, null), { key: null, attributes: {} })
  },
)

for (const engine of ENGINES) {
  t.test(`kept hold on ${engine}: survives its process and is charged once`, async t => {
    const gateway = await start(t, engine)
    const hold = await gateway.createHold()
    t.equal(BigInt(hold.held), HELD_NANOS)
    t.equal(await gateway.reservedAfterCrash(), HELD_NANOS)
    const settle = settleKept(hold, USED, Date.now())
    await gateway.database.write([settle])
    t.same(await gateway.wallet(), { spent: HELD_NANOS, used: HELD_NANOS })
    t.equal(await gateway.reservedAfterCrash(), 0n)
    const again = settleKept(hold, USED, Date.now())
    await t.rejects(gateway.database.write([again]), { code: 'CHARGE_CLOSED' })
    const release = releaseKept(hold, Date.now())
    await t.rejects(gateway.database.write([release]), { code: 'CHARGE_CLOSED' })
  })

  t.test(`kept hold on ${engine}: frees everything when it is released`, async t => {
    const gateway = await start(t, engine)
    const hold = await gateway.createHold()
    await gateway.database.write([releaseKept(hold, Date.now())])
    t.same(await gateway.wallet(), { spent: 0n, used: 0n })
    t.equal(await gateway.reservedAfterCrash(), 0n)
  })

  t.test(`kept hold on ${engine}: charges at most what it holds`, async t => {
    const gateway = await start(t, engine)
    const hold = await gateway.createHold()
    const three = { meters: { calls: 3 }, estimated: false }
    await gateway.database.write([settleKept(hold, three, Date.now())])
    t.same(await gateway.wallet(), { spent: HELD_NANOS, used: HELD_NANOS })
    const text = 'SELECT uncollected FROM charges'
    const [row] = await gateway.database.read(sql(text, text), [])
    t.equal(BigInt(Number(row?.uncollected)), 2n * HELD_NANOS)
  })

  t.test(`kept hold on ${engine}: a count whose cost no column can hold is charged`, async t => {
    const huge = { meters: { calls: Number.MAX_SAFE_INTEGER }, estimated: false }
    const text = 'SELECT CAST(uncollected AS TEXT) AS rest FROM charges WHERE uncollected > 0'
    for (const isLate of [false, true]) {
      const gateway = await start(t, engine)
      const hold = await gateway.createHold()
      if (isLate) await gateway.database.write([releaseKept(hold, Date.now())])
      const list = isLate
        ? chargeLate(hold, huge, Date.now())
        : [settleKept(hold, huge, Date.now())]
      await gateway.database.write(list)
      t.same(await gateway.wallet(), { spent: HELD_NANOS, used: HELD_NANOS })
      const most = 2n ** 63n - 1n - (isLate ? HELD_NANOS : 0n)
      t.same(await gateway.database.read(sql(text, text), []), [{ rest: String(most) }])
    }
  })

  t.test(`late charge on ${engine}: takes no more than the quota of the key, once`, async t => {
    const gateway = await start(t, engine)
    const { database } = gateway
    const keptHold = await gateway.createHold()
    const quota = HELD_NANOS / 4n
    const text = 'UPDATE charges SET key = 5'
    await database.write([openWallet(walletOf.key(5), quota), { sql: sql(text, text), values: [] }])
    await database.write([releaseKept(keptHold, Date.now())])
    const hold = { ...keptHold, key: 5 }
    const three = { meters: { calls: 3 }, estimated: false }
    await database.write(chargeLate(hold, three, Date.now()))
    t.same(await gateway.wallet(), { spent: quota, used: quota })
    const late = "SELECT key, amount, uncollected FROM charges WHERE state = 'settled'"
    const [row] = await database.read(sql(late, late), [])
    t.match(row, { key: 5, amount: Number(quota), uncollected: Number(3n * HELD_NANOS - quota) })
    const again = chargeLate(hold, USED, Date.now())
    await t.rejects(database.write(again), { code: 'CHARGE_EXISTS' })
    t.equal(await gateway.reservedAfterCrash(), 0n)
    const key = `SELECT balance, reserved FROM wallets WHERE id = ${walletOf.key(5)}`
    t.match(await database.read(sql(key, key), []), [{ balance: 0, reserved: 0 }])
  })

  t.test(`kept hold on ${engine}: is given back when its list is refused`, async t => {
    const refusal: Statement = {
      sql: { name: 'test: refuse', text: 'UPDATE wallets SET used = used WHERE id = -1' },
      values: [],
      rows: 1,
      otherwise: 'TASK_EXISTS',
    }
    const gateway = await start(t, engine, exchange => exchange.writes.add(refusal))
    t.not((await gateway.create()).status, 200)
    t.same(await gateway.wallet(), { spent: 0n, used: 0n })
    t.equal(await gateway.reservedAfterCrash(), 0n)
  })
}

for (const engine of ENGINES)
  t.test(`ledger tables on ${engine}: charges survive the migration to kept holds`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    const { MEMBERSHIP_TABLES } = await import('../../../engine/store/membership.ts')
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate('meter', migrations.slice(0, 9))
    const run = (text: string) => database.write([{ sql: { name: text, text }, values: [] }])
    await run('INSERT INTO wallets (id) VALUES (2)')
    await run("INSERT INTO credits VALUES (1, 1, 'credit', 1000, NULL, '', 1)")
    await run('UPDATE wallets SET reserved = 100 WHERE id = 2')
    await run("INSERT INTO shares VALUES ('p', 2, 100)")
    await run("INSERT INTO tollgate_processes (id, beat) VALUES ('p', 1)")
    await run(
      `INSERT INTO charges (request, account, process, route, model, version, rule, state, held, opened)
       VALUES ('old', 1, 'p', 'r', 'm', 1, '{}', 'open', 60, 1)`,
    )
    await database.migrate('meter', migrations)
    t.same(await audit(database), [])
    await run("UPDATE charges SET state = 'settled', amount = 60, serial = 1 WHERE request = 'old'")
    t.same(await audit(database), [])
    await t.rejects(run("UPDATE charges SET amount = 1 WHERE request = 'old'"))
  })
