/** The unused rest of a plan's window moves to the next one: once, up to its bound, and never what
 *  calls hold. */
import t, { type Test } from 'tap'
import type { Database, HostBase, Statement } from '../../../../engine/plugin.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { windowOf } from '../../../../plugins/ledger/budgets/window.ts'
import type { Ledger } from '../../../../plugins/ledger/ledger.ts'
import { heldPlanOf } from '../../../../plugins/ledger/plans/part.ts'
import { Plans } from '../../../../plugins/ledger/plans/plans.ts'
import { buyPlan } from '../../../../plugins/ledger/plans/purchase.ts'
import { assignPlan, findPlan } from '../../../../plugins/ledger/plans/rows.ts'
import { type Plan, type PlanWindow, plansIn } from '../../../../plugins/ledger/plans/section.ts'
import { takeInOrder } from '../../../../plugins/ledger/plans/take.ts'
import { openCharge, releaseCharge, settleCharge } from '../../../../plugins/ledger/statements.ts'
import type { Context } from '../../../../plugins/operator/operation.ts'
import { planOfCode, planOfPayment } from '../../../../plugins/operator/operations/plans/grants.ts'
import { viewOf } from '../../../../plugins/operator/operations/plans/view.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { HELD_CALL, openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { ENGINES, type Engine } from '../../../helpers/store/store.ts'

const UNIT = 10n ** 9n
const ZONE = 'Europe/Berlin'
const FEBRUARY = Date.parse('2028-02-10T00:00:00+01:00')
const MARCH = Date.parse('2028-03-01T00:00:00+01:00')
const APRIL = Date.parse('2028-04-01T00:00:00+02:00')

const arrange = async (t: Test, engine: Engine, plan: object) => {
  const { database, ledger: open, credit, rows } = await openBooks(t, engine)
  await credit(1, 1_000n * UNIT)
  const section = ((name: string) =>
    name === 'plans' ? { pro: { amount: 20, per: 'month', zone: ZONE, ...plan } } : {}) as never
  const host = { section } as Pick<HostBase, 'section'>
  const plans = plansIn(host)
  const ledger = await open()
  const gateway = (own: Ledger = ledger) => new Plans(plans, database, own)
  let calls = 0
  /** A call that holds `most` units of the window. `end`: charges so many, or releases. */
  const begin = async (window: PlanWindow | undefined, most: number, own: Ledger = ledger) => {
    if (!window) throw new Error('there is no window')
    const heldAmount = BigInt(most) * UNIT
    const planned = { ...payerOf(1), plan: { window, amount: heldAmount } }
    const { payer, shortage } = await takeInOrder(own, planned, heldAmount)
    t.equal(shortage, undefined)
    const [request, process] = [`call ${++calls}`, await own.process()]
    const row = { ...HELD_CALL, request, heldAmount, plan: heldPlanOf(payer), process }
    await database.write([openCharge(row)])
    return async (units?: number) => {
      const amount = BigInt(units ?? 0) * UNIT
      const how = { isEstimated: false, usage: '{}', lines: '[]', closedAt: 1, wallets: [] }
      await database.write([
        units === undefined
          ? releaseCharge(request, 1)
          : settleCharge({ request, amount, uncollected: 0n, ...how }),
      ])
      own.give(payer, heldAmount - amount, process, amount)
    }
  }
  const spend = async (window: PlanWindow | undefined, units: number) =>
    (await begin(window, units))(units)
  const windows = async () =>
    (
      await rows(
        `SELECT l.amount, l.carried, l.moved, w.used FROM plan_windows l
         JOIN wallets w ON w.id = l.wallet ORDER BY l.start`,
      )
    ).map(each => Object.fromEntries(Object.entries(each).map(([k, v]) => [k, Number(v) / 1e9])))
  const view = async (now: number) => {
    const stored = await findPlan(database, 1)
    if (!stored) throw new Error('the account has a plan')
    return viewOf(plans, stored, 'acme', now)
  }
  const assign = (since: number) =>
    database.write(assignPlan({ account: 1, plan: 'pro', since, until: undefined }))
  const books = async () => t.same(await audit(database), [])
  return {
    host,
    database,
    plans,
    ledger,
    open,
    gateway,
    begin,
    spend,
    windows,
    view,
    assign,
    books,
  }
}

for (const engine of ENGINES)
  t.test(`rollover of plans on ${engine}`, async t => {
    await t.test(
      'rest: moves once, whichever process opens the window, up to its bound',
      async t => {
        const { open, gateway, spend, windows, view, assign, books } = await arrange(t, engine, {
          rollover: '50%',
        })
        await assign(FEBRUARY)
        const gateways = [gateway(), gateway(await open())]
        const february = await gateways[0]?.windowOf(1, 'm', FEBRUARY)
        await spend(february, 5)
        t.match(await view(MARCH), { amount: '30', remaining: '30' }, 'before a call of March')
        const calls = Array.from({ length: 8 }, (_, at) =>
          gateways[at % 2]?.windowOf(1, 'm', MARCH),
        )
        const opened = await Promise.all(calls)
        t.equal(new Set(opened.map(each => each?.wallet)).size, 1)
        t.same(await windows(), [
          { amount: 20, carried: 0, moved: 10, used: 5 },
          { amount: 30, carried: 10, moved: 0, used: 0 },
        ])
        t.match(await view(MARCH), { amount: '30', used: '0', remaining: '30' })
        await spend(opened[0], 26)
        await gateways[1]?.windowOf(1, 'm', APRIL)
        t.match((await windows())[2], { amount: 24, carried: 4 }, 'less than the bound')
        await books()
      },
    )

    await t.test('rest: what a call holds stays, and moves when it has returned', async t => {
      const { open, gateway, begin, windows, assign, books } = await arrange(t, engine, {
        rollover: 15,
      })
      await assign(FEBRUARY)
      const [one, other] = [gateway(), gateway(await open())]
      const end = await begin(await one.windowOf(1, 'm', MARCH - 1), 12)
      await other.windowOf(1, 'm', MARCH)
      t.match(await windows(), [{ moved: 8 }, { amount: 28, carried: 8 }])
      await end(2)
      await books()
      // The call belongs to the window in which it began.
      await one.windowOf(1, 'm', MARCH)
      t.match(await windows(), [
        { moved: 15, used: 2 },
        { amount: 35, carried: 15 },
      ])
      await books()
    })

    await t.test(
      'rest: a window without a call has all of it, one before the plan none',
      async t => {
        const { gateway, windows, view, assign, books } = await arrange(t, engine, {
          rollover: '100%',
        })
        await assign(FEBRUARY)
        t.match(await view(APRIL), { amount: '40' })
        await gateway().windowOf(1, 'm', APRIL)
        t.match(await windows(), [{ moved: 20 }, { amount: 40 }])
        await assign(APRIL + 1)
        t.match(await view(APRIL + 2), { amount: '40' }, 'the same window goes on')
        const next = await arrange(t, engine, { rollover: '100%' })
        await next.assign(APRIL)
        await next.gateway().windowOf(1, 'm', APRIL)
        t.match(await next.windows(), [{ amount: 20, carried: 0 }])
        await Promise.all([books(), next.books()])
      },
    )

    await t.test('rest: moves after a payment or a code in the new window, too', async t => {
      const payment = { account: 1, plan: 'pro', amount: UNIT, until: APRIL, note: 'in_1' }
      const grants = {
        payment: async (context: Context) => (await planOfPayment(context, payment))?.list,
        code: (context: Context) => planOfCode(context, 1, 'pro', '30d'),
      }
      for (const [name, grant] of Object.entries(grants)) {
        const { host, database, gateway, windows, books } = await arrange(t, engine, {
          rollover: '100%',
        })
        const until = MARCH + 86_400_000
        await database.write(assignPlan({ account: 1, plan: 'pro', since: FEBRUARY, until }))
        await gateway().windowOf(1, 'm', FEBRUARY)
        const context = { host, store: database, now: MARCH + 1 } as unknown as Context
        await database.write((await grant(context)) ?? [])
        await gateway().windowOf(1, 'm', until)
        t.match(await windows(), [{ moved: 20 }, { amount: 40, carried: 20 }], name)
        await books()
      }
    })

    await t.test('rest: a change of the calendar makes no rest of an earlier window', async t => {
      const { database, gateway, plans, ledger, windows, assign, books } = await arrange(
        t,
        engine,
        { rollover: '100%' },
      )
      await assign(FEBRUARY)
      await gateway().windowOf(1, 'm', MARCH)
      const pro = plans.get('pro')
      if (!pro) throw new Error('there is a plan')
      t.equal((await windows()).length, 2)
      const other = (more: Partial<Plan>) =>
        new Plans(new Map([['pro', { ...pro, ...more }]]), database, ledger)
      const zone = 'UTC'
      await other({ zone }).windowOf(1, 'm', MARCH + 86_400_000)
      t.match(await windows(), [
        { moved: 20 },
        { amount: 40, moved: 0 },
        { amount: 20, carried: 0 },
      ])
      const stored = await findPlan(database, 1)
      if (!stored) throw new Error('the account has a plan')
      const day = { ...pro, zone, per: 'day' } as const
      const now = MARCH + 5 * 86_400_000
      t.match(viewOf(new Map([['pro', day]]), stored, 'acme', now), { amount: '20' })
      await other(day).windowOf(1, 'm', now)
      t.match((await windows())[3], { amount: 20, carried: 0 }, 'a day of the month')
      await other(day).windowOf(1, 'm', now + 86_400_000)
      t.match(
        (await windows())[4],
        { amount: 40, carried: 20 },
        'the next day of the same calendar',
      )
      await books()
    })

    await t.test('rest: a purchase after the plan has ended moves none', async t => {
      const { database, plans, ledger, begin, windows, books } = await arrange(t, engine, {
        price: 3,
        renew: 'never',
        rollover: '100%',
      })
      const plan = plans.get('pro')
      if (!plan) throw new Error('there is a plan')
      const order = { plan, price: 3n * UNIT, account: 1 }
      await database.write(buyPlan({ ...order, at: FEBRUARY }, -1))
      const decided = Promise.withResolvers<void>()
      /** Once the gateway knows that no rest moves, or has moved it. */
      const decides = async <T>(result: Promise<T>, names: readonly string[]): Promise<T> => {
        const value = await result
        if (names.some(name => /has source|find rest/.test(name))) decided.resolve()
        return value
      }
      const watched = {
        now: () => database.now(),
        read: (...[sql, values]: Parameters<Database['read']>) =>
          decides(database.read(sql, values), [sql.name]),
        write: (list: readonly Statement[]) =>
          decides(
            database.write(list),
            list.map(({ sql }) => sql.name),
          ),
      }
      const own = new Plans(plans, watched, ledger)
      await (await begin(await own.windowOf(1, 'm', FEBRUARY), 1))(1)
      const stored = await findPlan(database, 1)
      await database.write(buyPlan({ ...order, at: MARCH + 1 }, Number(stored?.change)))
      await own.follow()
      await own.windowOf(1, 'm', MARCH + 2)
      await decided.promise
      t.match(await windows(), [{ moved: 0 }, { amount: 20, carried: 0 }])
      await books()
    })

    await t.test('renewal: the payment moves the rest, and leases of gateways follow', async t => {
      const { database, plans, open, gateway, begin, windows, books } = await arrange(t, engine, {
        price: 3,
        rollover: '100%',
      })
      const plan = plans.get('pro')
      if (!plan) throw new Error('there is a plan')
      const order = { plan, price: 3n * UNIT, account: 1, at: FEBRUARY }
      await database.write(buyPlan(order, -1))
      const [own, foreign] = [await open(), await open()]
      const [one, other] = [gateway(own), gateway(foreign)]
      // Both gateways lease a part of the window.
      await (await begin(await one.windowOf(1, 'm', FEBRUARY), 1, own))(1)
      await (await begin(await other.windowOf(1, 'm', FEBRUARY), 1, foreign))(1)
      await Promise.all([1, 2, 3].map(() => one.windowOf(1, 'm', MARCH)))
      await other.follow()
      await other.windowOf(1, 'm', MARCH)
      await eventually(async () => (await windows())[0]?.moved === 18 || undefined)
      t.match(await windows(), [
        { amount: 20, used: 2, moved: 18 },
        { amount: 38, carried: 18 },
      ])
      const after = windowOf(APRIL, 'month', ZONE)
      await one.windowOf(1, 'm', after.end ?? 0)
      t.equal((await windows()).length, 3, 'a window was missed')
      t.match((await windows())[2], { amount: 20, carried: 0 }, 'its rest is lost')
      await books()
    })
  })
