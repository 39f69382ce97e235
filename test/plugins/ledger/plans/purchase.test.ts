/** Plans that accounts buy: the wallet pays once for each window, whichever process renews it, and
 *  the books balance. */
import t, { type Test } from 'tap'
import type { HostBase, Statement } from '../../../../engine/plugin.ts'
import { migrations as actionTables } from '../../../../plugins/action-log/tables.ts'
import { createAccount } from '../../../../plugins/credentials/statements.ts'
import { migrations as accountTables } from '../../../../plugins/credentials/tables.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { windowOf } from '../../../../plugins/ledger/budgets/window.ts'
import { Plans } from '../../../../plugins/ledger/plans/plans.ts'
import { renewDuePlans } from '../../../../plugins/ledger/plans/purchase.ts'
import { cancelPlan, findPlan } from '../../../../plugins/ledger/plans/rows.ts'
import { plansIn } from '../../../../plugins/ledger/plans/section.ts'
import type { Actor } from '../../../../plugins/operator/operation.ts'
import type {
  BoughtPlan,
  NewCode,
  OwnPlans,
  PaymentRow,
  PlanView,
  Redeemed,
} from '../../../../plugins/views.ts'
import { openBooks, payerOf } from '../../../helpers/money/ledger.ts'
import { hostOver } from '../../../helpers/store/accounts.ts'
import { runAs } from '../../../helpers/store/operations.ts'
import { ENGINES, type Engine } from '../../../helpers/store/store.ts'

const UNIT = 10n ** 9n
const ZONE = 'Europe/Berlin'
const PLANS = {
  pro: { amount: 20, per: 'month', zone: ZONE, price: 15 },
  max: { amount: 100, per: 'month', zone: ZONE, price: 60, models: ['m'], after: 'refuse' },
  once: { amount: 5, per: 'month', price: 4, renew: 'never' },
  gift: { amount: 1, per: 'month' },
}
const actor: Actor = { via: 'command line', name: 'root' }
const sectionOf = (plans: object) =>
  ((name: string) => (name === 'plans' ? plans : {})) as HostBase['section']

/** Account 1, `acme`, has `money` units. */
const arrange = async (t: Test, engine: Engine, money: number) => {
  const books = await openBooks(t, engine)
  const { database, credit, rows } = books
  await database.migrate('auth', accountTables)
  await database.migrate('actions', actionTables)
  await database.write(createAccount({ name: 'acme', role: 'customer' }, 1))
  await credit(1, BigInt(money) * UNIT)
  const hostWith = (plans: object) => ({ ...hostOver(database), section: sectionOf(plans) })
  const host = hostWith(PLANS)
  const run = <T = PlanView>(name: string, args: object, own?: number) =>
    runAs<T>({ host, actor, own }, name, args)
  const gateway = (plans: object = PLANS, ledger?: { returnUnused(): Promise<void> }) =>
    new Plans(plansIn(hostWith(plans)), database, ledger)
  const debits = async () =>
    (await rows("SELECT amount, note FROM credits WHERE kind = 'debit' ORDER BY id")).map(
      ({ amount, note }) => `${Number(amount) / -1e9} ${String(note).slice(0, 8)}`,
    )
  return {
    ...books,
    host,
    run,
    gateway,
    debits,
    buy: (plan: string) => run<BoughtPlan>('plans buy', { plan }, 1),
    balance: async () => Number((await books.wallet(1)).balance) / 1e9,
    books: async () => t.same(await audit(database), []),
  }
}
const endOf = ({ expires }: PlanView): number => Date.parse(expires ?? '')

for (const engine of ENGINES)
  t.test(`plans that accounts buy on ${engine}`, async t => {
    await t.test('buy: the wallet pays for a window, in which the plan has its amount', async t => {
      const { run, buy, debits, balance, books } = await arrange(t, engine, 100)
      const before = await run<OwnPlans>('plans show', {}, 1)
      t.match(before, { current: null, offers: [{ plan: 'pro', price: '15', renew: 'auto' }] })
      t.equal(before.offers.length, 3, 'a plan without a price is not offered')
      const bought = await buy('pro')
      t.match(bought, { plan: 'pro', state: 'active', paid: '15', remaining: '20', renews: '15' })
      t.equal(endOf(bought), windowOf(Date.now(), 'month', ZONE).end)
      t.equal(await balance(), 85)
      t.match(await buy('pro'), { paid: '0', remaining: '20' }, 'a repetition pays nothing')
      t.match(await run('plans buy', { account: 'acme', plan: 'pro' }), { paid: '0' })
      t.same(await debits(), ['15 plan pro'])
      t.match(await run('plans show', {}, 1), { current: { plan: 'pro', renews: '15' } })
      await books()
    })

    await t.test('buy: another plan begins at once, and going back adds to the window', async t => {
      const { buy, debits, gateway, books } = await arrange(t, engine, 100)
      await buy('pro')
      t.match(await buy('max'), { plan: 'max', paid: '60', remaining: '100' })
      const plans = gateway()
      t.equal((await plans.windowOf(1, 'm', Date.now()))?.plan.name, 'max')
      t.equal(await plans.windowOf(1, 'other', Date.now()), undefined)
      t.match(await buy('pro'), { paid: '15', amount: '40', remaining: '40' })
      t.same(await debits(), ['15 plan pro', '60 plan max', '15 plan pro'])
      await books()
    })

    await t.test('buy: many requests at once pay once', async t => {
      const { buy, debits, books } = await arrange(t, engine, 100)
      const answers = await Promise.all(Array.from({ length: 8 }, () => buy('pro')))
      t.same(answers.map(({ paid }) => paid).sort(), [...Array(7).fill('0'), '15'])
      t.same(await debits(), ['15 plan pro'])
      await books()
    })

    await t.test('buy: mistakes are named, and cost nothing', async t => {
      const { run, buy, debits, ledger: open } = await arrange(t, engine, 14)
      await t.rejects(buy('gold'), { code: 'PLAN_UNKNOWN' })
      await t.rejects(buy('gift'), { code: 'PLAN_NOT_SOLD' })
      await t.rejects(buy('pro'), {
        code: 'PLAN_UNAFFORDABLE',
        message: /costs 15 CNY, and 14 CNY/,
      })
      await t.rejects(run('plans cancel', { at_end: true }, 1), { code: 'PLAN_MISSING' })
      const ledger = await open()
      t.equal(await ledger.take(payerOf(1), 11n * UNIT), undefined)
      await t.rejects(buy('once'), { code: 'PLAN_UNAFFORDABLE', message: /and 3 CNY of/ })
      ledger.give(payerOf(1), 11n * UNIT, await ledger.process())
      t.match(await buy('once'), { paid: '4', renews: null }, 'the lease has returned')
      await t.rejects(run('plans cancel', { at_end: true }, 1), { code: 'PLAN_NO_RENEWAL' })
      t.same(await debits(), ['4 plan onc'])
    })

    await t.test('renewal: calls at once on two gateways and the job pay once', async t => {
      const { buy, run, gateway, debits, balance, database, host, books } = await arrange(
        t,
        engine,
        100,
      )
      const end = endOf(await buy('pro'))
      const gateways = [gateway(), gateway()]
      const before = await Promise.all(gateways.map(each => each.windowOf(1, 'm', end - 1)))
      const windows = await Promise.all([
        ...Array.from({ length: 8 }, (_, at) => gateways[at % 2]?.windowOf(1, 'm', end)),
        renewDuePlans({ database }, plansIn(host), end),
      ])
      const wallets = new Set(windows.slice(0, 8).map(each => each?.wallet))
      t.equal(wallets.size, 1)
      t.notOk(wallets.has(before[0]?.wallet), 'it is another window')
      t.equal(windows[0]?.end, windowOf(end, 'month', ZONE).end)
      t.same(await debits(), ['15 plan pro', '15 plan pro'])
      t.equal(await balance(), 70)
      for (const each of gateways)
        t.equal((await each.windowOf(1, 'm', end - 1))?.wallet, before[0]?.wallet, 'began before')
      // No gateway ran for months: the window of now is paid for, not those between.
      const late = windowOf(windowOf(end + 100 * 86_400_000, 'month', ZONE).start, 'month', ZONE)
      await renewDuePlans({ database }, plansIn(host), late.start)
      await renewDuePlans({ database }, plansIn(host), late.start)
      t.equal((await debits()).length, 3)
      t.match(await run('plans list', {}), [{ state: 'active', remaining: '20' }])
      await books()
    })

    await t.test('renewal: ends the plan once if the balance does not cover it', async t => {
      const { buy, run, gateway, debits, credit, database, books } = await arrange(t, engine, 70)
      const end = endOf(await buy('max'))
      const gateways = [gateway(), gateway()]
      const calls = gateways.flatMap(each => [1, 2].map(async () => each.windowOf(1, 'm', end)))
      for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
        t.match(reason, { code: 'PLAN_UNPAID', status: 403, message: /its price of 60 CNY/ })
      t.equal(await gateways[0]?.windowOf(1, 'other', end), undefined, 'the wallet pays')
      t.match(await run('plans show', {}, 1), { current: { state: 'unpaid', renews: null } })
      await credit(1, 100n * UNIT)
      await t.rejects(async () => gateway().windowOf(1, 'm', end), { code: 'PLAN_UNPAID' })
      t.equal((await debits()).length, 1)
      const unpaid = await findPlan(database, 1)
      await run('plans cancel', { at_end: true }, 1)
      t.equal(await gateway().windowOf(1, 'm', end), undefined)
      t.match(await buy('max'), { paid: '60' }, 'it is bought again')
      await t.rejects(database.write(cancelPlan(1, Number(unpaid?.change))), {
        code: 'PLAN_CHANGED',
      })
      t.match(await run('plans show', {}, 1), { current: { plan: 'max', state: 'active' } })
      await books()
    })

    await t.test('renewal: suspended and deleted accounts do not pay', async t => {
      const { buy, run, gateway, debits, database, host, books } = await arrange(t, engine, 100)
      const end = endOf(await buy('pro'))
      const renew = () => renewDuePlans({ database }, plansIn(host), end)
      await run('accounts suspend', { account: 'acme' })
      await renew()
      t.equal((await debits()).length, 1)
      await run('accounts resume', { account: 'acme' })
      await renew()
      t.equal((await debits()).length, 2)
      t.equal((await gateway().windowOf(1, 'm', end))?.plan.name, 'pro')
      await run('accounts delete', { account: 'acme', force: true })
      await renewDuePlans({ database }, plansIn(host), windowOf(end, 'month', ZONE).end ?? 0)
      t.equal((await debits()).length, 2)
      await books()
    })

    await t.test('renewal: waits for money that other processes lease', async t => {
      const { buy, gateway, debits, ledger: open } = await arrange(t, engine, 31)
      const end = endOf(await buy('pro'))
      const ledger = await open()
      t.equal(await ledger.take(payerOf(1), 2n * UNIT), undefined)
      const busy = gateway()
      t.equal(await busy.windowOf(1, 'm', end), undefined, 'a call holds it: the wallet pays')
      const process = await ledger.process()
      const own = { returnUnused: async () => ledger.give(payerOf(1), 2n * UNIT, process) }
      let isGiven = false
      const returning = {
        async returnUnused() {
          if (!isGiven) await own.returnUnused()
          isGiven = true
        },
      }
      t.equal(await busy.windowOf(1, 'm', end), undefined, 'the next call does not wait')
      const strict = gateway({ ...PLANS, pro: { ...PLANS.pro, after: 'refuse' } })
      await t.rejects(async () => strict.windowOf(1, 'm', end), {
        code: 'PLAN_RENEWAL',
        status: 429,
        headers: { 'retry-after': '1' },
      })
      t.equal((await gateway(PLANS, returning).windowOf(1, 'm', end))?.plan.name, 'pro')
      t.equal((await debits()).length, 2)
    })

    await t.test('renewal: the job follows the clock of the store, for every account', async t => {
      const { buy, run, host, debits, database, books } = await arrange(t, engine, 100)
      await database.write(createAccount({ name: 'beta', role: 'customer' }, 1))
      await run('accounts credit', { account: 'beta', amount: '40' })
      const end = endOf(await buy('pro'))
      await run('plans buy', { account: 'beta', plan: 'pro' })
      let failures = 0
      const store = {
        read: database.read.bind(database),
        now: async () => end,
        write: async (list: readonly Statement[]) => {
          const renewal = list.find(({ sql }) => sql.name === 'plans: renew')
          if (renewal?.values?.[2] === 1 && ++failures > 0) throw new Error('account 1 fails')
          return database.write(list)
        },
      }
      const job = new Plans(plansIn(host), store)
      await t.rejects(job.renewDue(), { message: /account 1: account 1 fails/ })
      t.equal(failures, 1)
      t.same(await debits(), Array(3).fill('15 plan pro'), 'the other account has paid')
      await books()
    })

    await t.test('renewal: a row that stays due never lets the balance pay', async t => {
      const { buy, host, database } = await arrange(t, engine, 200)
      const end = endOf(await buy('max'))
      const discarding = {
        read: database.read.bind(database),
        now: () => database.now(),
        write: async () => [],
      }
      const plans = new Plans(plansIn(host), discarding)
      await t.rejects(async () => plans.windowOf(1, 'm', end), { code: 'PLAN_RENEWAL' })
    })

    await t.test('trial: a window that no call has opened has its whole amount', async t => {
      const { run, host, database } = await arrange(t, engine, 100)
      await run('plans assign', { account: 'acme', plan: 'gift' })
      const funds: unknown[] = []
      const ledger = {
        returnUnused: async () => {},
        setTrialFunds: (_: number, each: unknown) => void funds.push(each),
      }
      const discarding = {
        read: database.read.bind(database),
        now: () => database.now(),
        write: async () => [],
      }
      const trial = new Plans(plansIn(host), discarding, ledger, true)
      await trial.windowOf(1, 'm', Date.now())
      t.same(funds, [], 'the store has this one')
      await trial.windowOf(1, 'm', windowOf(Date.now(), 'month', 'UTC').end ?? 0)
      t.same(funds, [{ available: UNIT, total: UNIT }])
    })

    await t.test('cancel: a plan ends with its window, and can be resumed until then', async t => {
      const { buy, run, gateway, debits, books } = await arrange(t, engine, 100)
      const end = endOf(await buy('pro'))
      t.match(await run('plans cancel', { at_end: true }, 1), { state: 'active', renews: null })
      t.equal((await gateway().windowOf(1, 'm', end - 1))?.plan.name, 'pro')
      t.equal(await gateway().windowOf(1, 'm', end), undefined)
      t.match(await buy('pro'), { paid: '0', renews: '15' }, 'it is resumed')
      t.equal((await gateway().windowOf(1, 'm', end))?.end, windowOf(end, 'month', ZONE).end)
      await run('plans cancel', { account: 'acme' })
      t.equal(await gateway().windowOf(1, 'm', end), undefined)
      t.equal((await debits()).length, 2)
      t.match(await buy('pro'), { paid: '15' }, 'it is bought again')
      await books()
    })

    await t.test('codes: give a plan once, and the one that an account has for longer', async t => {
      const { run, buy, database, books, gateway } = await arrange(t, engine, 100)
      await t.rejects(run('codes create', {}), { code: 'CODE_WORTH' })
      await t.rejects(run('codes create', { plan: 'gold' }), { code: 'PLAN_UNKNOWN' })
      const codes = await run<NewCode[]>('codes create', { plan: 'pro', lasts: '30d', count: 3 })
      t.match(codes, [{ amount: '0', plan: 'pro', lasts: '30d', state: 'open' }])
      const [first = '', second = '', third = ''] = codes.map(({ code }) => code)
      const redeem = (code: string, own = 1) => run<Redeemed>('codes redeem', { code }, own)
      const both = await Promise.all([redeem(first), redeem(first), redeem(first)])
      t.same(both.map(({ repeated }) => repeated).sort(), [false, true, true])
      t.match(both[0], { plan: 'pro', credited: '0', balance: '100' })
      const days = async () => {
        const [plan] = await run<PlanView[]>('plans list', {})
        return Math.round((endOf(plan as PlanView) - Date.now()) / 86_400_000)
      }
      t.equal(await days(), 30)
      await database.write(createAccount({ name: 'beta', role: 'customer' }, 1))
      await t.rejects(redeem(first, 2), { code: 'CODE_SPENT' })
      await redeem(second)
      t.equal(await days(), 60)
      t.equal((await gateway().windowOf(1, 'm', Date.now()))?.plan.name, 'pro')
      await buy('once')
      await t.rejects(redeem(third), { code: 'PLAN_OWNED', message: /plan "once"/ })
      t.match(await run('codes list', {}), [], 'it is not spent')
      t.match(await redeem(third, 2), { plan: 'pro', repeated: false })
      const [mixed] = await run<NewCode[]>('codes create', { plan: 'gift', amount: '3' })
      await run('plans cancel', { account: 'acme' })
      t.match(await redeem(mixed?.code ?? ''), { plan: 'gift', credited: '3', balance: '99' })
      t.match(await run('plans show', {}, 1), { current: { plan: 'gift', expires: null } })
      await books()
    })

    await t.test(
      'payments: give or renew a plan once, however often they are reported',
      async t => {
        const { run, debits, balance, books } = await arrange(t, engine, 1)
        const end = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
        const pay = (reference: string, more: object) => {
          const payment = { account: 'acme', amount: '20', reference, plan: 'pro', ...more }
          return run<PaymentRow>('credits create', payment)
        }
        const [december, january] = [end(30), end(60)]
        const reports = Array.from({ length: 6 }, () => pay('in_1', { expires: december }))
        const answers = await Promise.all(reports)
        t.equal(answers.filter(({ repeated }) => !repeated).length, 1)
        t.equal(answers.filter(({ plan }) => plan === 'pro').length, 1)
        t.match(answers[0], { amount: '20', balance: '1' })
        t.match(await run('plans show', {}, 1), { current: { expires: december, renews: null } })
        await pay('in_2', { expires: january })
        t.match(await pay('in_1', { expires: december }), { repeated: true, plan: null })
        t.match(await pay('in_1', { plan: 'max' }), { repeated: true, plan: null })
        t.match(await pay('in_0', { expires: end(1) }), { plan: null, balance: '21' })
        t.match(await run('plans show', {}, 1), { current: { expires: january } }, 'the later end')
        await t.rejects(pay('in_1', { amount: '21' }), { code: 'PAYMENT_DIFFERS' })
        t.same(await debits(), Array(2).fill('20 plan pro'))
        t.equal(await balance(), 21)
        t.match(await pay('in_3', { plan: 'max' }), { plan: 'max' })
        const { current } = await run<OwnPlans>('plans show', {}, 1)
        t.match(current, { plan: 'max' })
        t.equal(current && endOf(current), windowOf(Date.now(), 'month', ZONE).end)
        await books()
      },
    )

    await t.test('payments: at once, the later end counts, and none is lost', async t => {
      const { run, debits, balance, books } = await arrange(t, engine, 1)
      const ends = [60, 30].map(days => new Date(Date.now() + days * 86_400_000))
      await Promise.all(
        ends.map((end, at) => {
          const more = { reference: `in_${at}`, plan: 'pro', expires: end.toISOString() }
          return run('credits create', { account: 'acme', amount: '20', ...more })
        }),
      )
      const { current } = await run<OwnPlans>('plans show', {}, 1)
      t.equal(current?.expires, ends[0]?.toISOString())
      // Each payment is a plan's, or credit.
      t.equal((await balance()) + 20 * (await debits()).length, 41)
      await books()
    })

    await t.test('payments: what gives no plan stays credit', async t => {
      const { run, buy, gateway, debits, balance, books } = await arrange(t, engine, 60)
      const after = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
      let count = 0
      const pay = (more: object) =>
        run<PaymentRow>('credits create', {
          account: 'acme',
          amount: '20',
          reference: `in_${++count}`,
          plan: 'pro',
          ...more,
        })
      const own = async () => (await run<OwnPlans>('plans show', {}, 1)).current
      t.match(await pay({ plan: 'gold' }), { plan: null, balance: '80' }, 'no such plan')
      t.match(await pay({ expires: after(-1) }), { plan: null, balance: '100' }, 'it has passed')
      t.equal(await own(), null)
      await run('plans assign', { account: 'acme', plan: 'pro' })
      t.match(await pay({ expires: after(30) }), { plan: null, balance: '120' })
      t.match(await own(), { expires: null }, 'a plan without an end keeps none')
      await run('plans cancel', { account: 'acme' })
      t.match(await pay({}), { plan: 'pro', balance: '120' })
      t.match(await pay({}), { plan: null, balance: '140' }, 'again in the same window')
      const [gift] = await run<PlanView[]>('plans list', {})
      await run('plans cancel', { account: 'acme' })
      const logged = { plan: 'pro', expires: gift?.expires, paid: false }
      t.match(await run('actions list', { limit: 1 }), [{ before: logged, after: null }])
      await run('codes create', { plan: 'pro', lasts: '30d', expires: after(9) })
      t.match(await run('actions list', { limit: 1 }), [{ after: { lasts: '30d', expires: /Z$/ } }])
      const bought = await buy('pro')
      t.match(await pay({}), { plan: null, balance: '145' }, 'it is bought until then')
      t.match(await own(), { renews: '15', amount: bought.amount })
      const later = windowOf(endOf(bought), 'month', ZONE).end ?? 0
      const paid = await pay({ expires: new Date(later).toISOString() })
      t.match(paid, { plan: 'pro', balance: '145' })
      t.match(await run('actions list', { limit: 1 }), [
        {
          operation: 'credits create',
          before: { plan: 'pro', expires: bought.expires, paid: true },
          after: { plan: 'pro', expires: new Date(later).toISOString(), credited: '20' },
        },
      ])
      t.match(await own(), { renews: '15', amount: bought.amount }, 'it renews itself as before')
      t.equal((await gateway().windowOf(1, 'm', later))?.start, later)
      t.same(await debits(), ['20 plan pro', '15 plan pro', '20 plan pro', '15 plan pro'])
      t.equal(await balance(), 130)
      await books()
    })

    await t.test('reload: another calendar applies from the next payment', async t => {
      const { buy, gateway, debits, database, books } = await arrange(t, engine, 100)
      const end = endOf(await buy('pro'))
      const daily = { pro: { ...PLANS.pro, per: 'day', amount: 2 } }
      const paid = await gateway(daily).windowOf(1, 'm', end - 1)
      t.equal(paid?.end, end, 'the window that it paid for goes on')
      // Midnight of Berlin is within a day of New York: the customer gets its rest and a whole one.
      const west = { pro: { ...PLANS.pro, per: 'day', zone: 'America/New_York' } }
      const window = await gateway(west).windowOf(1, 'm', end)
      t.equal(window?.start, end)
      const first = windowOf(end, 'day', 'America/New_York')
      t.equal(window?.end, windowOf(first.end ?? 0, 'day', 'America/New_York').end)
      t.equal((await debits()).length, 2)
      const unsold = { pro: { ...PLANS.pro, price: undefined } }
      t.equal(await gateway(unsold).windowOf(1, 'm', window?.end ?? 0), undefined)
      await renewDuePlans({ database }, plansIn({ section: sectionOf({}) }), window?.end ?? 0)
      t.equal((await debits()).length, 2, 'nothing is paid for a plan that is not sold any more')
      await books()
    })
  })
