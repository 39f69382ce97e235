/** Calls of gateways whose clock moves over midnight, daylight saving, a leap day and the end of a
 *  year, and calls after a reload with another zone. Each belongs to the window in which it
 *  began. */
import t, { type Test } from 'tap'
import { assignPlan } from '../../../../plugins/ledger/plans/rows.ts'
import { stillDate } from '../../../helpers/clocks.ts'
import { ANSWER, arrangeBudgets, BODY, EVENTS, STREAM } from '../../../helpers/money/budgets.ts'
import { ENGINES, sql } from '../../../helpers/store/store.ts'

const arrange = async (t: Test, engine: (typeof ENGINES)[number], budgets: object, plans = {}) => {
  const parts = await arrangeBudgets(t, engine, budgets, 1, plans)
  const { urls, database } = parts
  const read = (text: string) => async () =>
    (await database.read(sql(text, text), [])).map(({ name, start, used }) => [
      name,
      new Date(Number(start)).toISOString(),
      Number(used),
    ])
  return {
    ...parts,
    url: urls[0] ?? '',
    budgetsUsed: read(
      `SELECT b.budget AS name, b.start, w.used FROM budget_windows b
       JOIN wallets w ON w.id = b.wallet ORDER BY b.budget, b.start`,
    ),
    plansUsed: read(
      `SELECT l.plan AS name, l.start, w.used FROM plan_windows l
       JOIN wallets w ON w.id = l.wallet ORDER BY l.plan, l.start`,
    ),
  }
}
/** Two calls fit. */
const DAY = { of: 'account', amount: 0.0125, per: 'day', zone: 'Europe/Berlin' }

for (const engine of ENGINES)
  t.test(`clock of gateways on ${engine}`, async t => {
    await t.test('each day has its own window, of 23, 24 or 25 hours', async t => {
      const clock = stillDate(t)
      const parts = await arrange(t, engine, { day: DAY })
      const days = [
        // The end of a year.
        ['2027-12-31T23:59:59.999+01:00', 200],
        ['2028-01-01T00:00:00+01:00', 200],
        ['2028-01-01T23:59:59.999+01:00', 200],
        ['2028-01-01T23:59:59.999+01:00', 429],
        // A leap day.
        ['2028-02-29T00:00:00+01:00', 200],
        ['2028-02-29T23:59:59.999+01:00', 200],
        ['2028-02-29T23:59:59.999+01:00', 429],
        ['2028-03-01T00:00:00+01:00', 200],
        // Both days of daylight saving.
        ['2028-03-26T00:00:00+01:00', 200],
        ['2028-03-26T23:59:59.999+02:00', 200],
        ['2028-03-26T23:59:59.999+02:00', 429],
        ['2028-03-27T00:00:00+02:00', 200],
        ['2028-10-29T00:00:00+02:00', 200],
        ['2028-10-29T23:59:59.999+01:00', 200],
        ['2028-10-29T23:59:59.999+01:00', 429],
        ['2028-10-30T00:00:00+01:00', 200],
      ] as const
      for (const [at, expected] of days) {
        clock.moveTo(Date.parse(at))
        t.equal((await parts.call(parts.url)).status, expected, at)
        await parts.books()
      }
      const [one, two] = [6_000_000, 12_000_000]
      t.same(await parts.budgetsUsed(), [
        ['day', '2027-12-30T23:00:00.000Z', one],
        ['day', '2027-12-31T23:00:00.000Z', two],
        ['day', '2028-02-28T23:00:00.000Z', two],
        ['day', '2028-02-29T23:00:00.000Z', one],
        ['day', '2028-03-25T23:00:00.000Z', two],
        ['day', '2028-03-26T22:00:00.000Z', one],
        ['day', '2028-10-28T22:00:00.000Z', two],
        ['day', '2028-10-29T23:00:00.000Z', one],
      ])
    })

    await t.test('a call over midnight is charged to the day in which it began', async t => {
      const clock = stillDate(t)
      const tokens = { of: 'account', tokens: 10_000, per: 'day', zone: 'Europe/Berlin' }
      const plan = { amount: 0.01, per: 'day', zone: 'Europe/Berlin' }
      const budgets = { day: DAY, tokens }
      const parts = await arrange(t, engine, budgets, { pro: plan })
      const { installation, call, url, database } = parts
      await database.write(assignPlan({ account: 1, plan: 'pro', since: 1, until: undefined }))
      const [start, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      installation.script = async (_, response, _call, body) => {
        if (!JSON.parse(body ?? '{}').stream)
          return response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
        start.resolve()
        await goesOn.promise
        return response.setHeader('content-type', 'text/event-stream').end(EVENTS)
      }
      clock.moveTo(Date.parse('2027-03-27T23:59:59.999+01:00'))
      const before = call(url, STREAM)
      await start.promise
      clock.moveTo(Date.parse('2027-03-28T00:00:00+01:00'))
      t.equal((await call(url, BODY)).status, 200)
      goesOn.resolve()
      t.match((await before).text, /DONE/)
      await parts.books()
      const [first, second] = ['2027-03-26T23:00:00.000Z', '2027-03-27T23:00:00.000Z']
      t.same(await parts.budgetsUsed(), [
        ['day', first, 6_000_000],
        ['day', second, 6_000_000],
        ['tokens', first, 1_500],
        ['tokens', second, 1_500],
      ])
      t.same(await parts.plansUsed(), [
        ['pro', first, 6_000_000],
        ['pro', second, 6_000_000],
      ])
    })

    await t.test(
      'a reload with another zone begins a window; a call before it ends in its own',
      async t => {
        const clock = stillDate(t)
        const parts = await arrange(t, engine, { day: DAY })
        const { installation, call, url, gateway } = parts
        const [start, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        installation.script = async (_, response, count) => {
          if (count === 2) {
            start.resolve()
            await goesOn.promise
          }
          response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
        }
        clock.moveTo(Date.parse('2027-07-01T03:00:00Z'))
        t.equal((await call(url)).status, 200)
        await parts.books()
        const before = call(url)
        await start.promise
        const reloaded = await gateway({ day: { ...DAY, zone: 'America/New_York' } })
        t.equal((await call(reloaded)).status, 200)
        goesOn.resolve()
        t.equal((await before).status, 200)
        await parts.books()
        t.equal((await call(url)).status, 429, 'the window of the earlier zone is used')
        t.equal((await call(reloaded)).status, 200)
        await parts.books()
        t.same(await parts.budgetsUsed(), [
          ['day', '2027-06-30T04:00:00.000Z', 12_000_000],
          ['day', '2027-06-30T22:00:00.000Z', 12_000_000],
        ])
      },
    )
  })
