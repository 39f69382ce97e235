/** The sums of days equal those of the charges: after the migration of an older store, beside older
 *  gateways, and for any period. */
import t from 'tap'
import type { Row, Sql, Value } from '../../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
import type { OpenDatabase } from '../../../../engine/store/open-database.ts'
import { migrations as credentials } from '../../../../plugins/credentials/tables.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { refundStatements } from '../../../../plugins/ledger/refunds/refund-undelivered.ts'
import { migrations } from '../../../../plugins/ledger/tables.ts'
import { BY_DAY_AND_MODEL } from '../../../../plugins/ledger/views/overview.ts'
import { topUsage } from '../../../../plugins/ledger/views/usage.ts'
import { accountValuesIn, valuesIn } from '../../../../plugins/ledger/views/usage-days.ts'
import {
  type Group,
  MODELS_OF_TAG,
  type SumSort,
  sumsBy,
} from '../../../../plugins/ledger/views/usage-lists.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { createChance } from '../../../helpers/run-settings.ts'
import { ENGINES, sql, startAnyStore } from '../../../helpers/store/store.ts'

const DAY = 86_400_000
const NOW = Date.now()
const ACCOUNTS = [1, 2, 3]
/** Before the sums of days. */
const OLD = migrations.filter(({ number }) => number < 12)
/** Before the sums of output tokens and of tags. */
const BEFORE_OUTPUT = migrations.filter(({ number }) => number < 20)

interface Charge {
  readonly request: string
  readonly account: number
  readonly key: number | null
  readonly model: string
  readonly state: string
  readonly amount: number
  readonly opened: number
  readonly input: number
  /** The column `served`. */
  readonly served: string | null
}
const randomCharges = (chance: () => number, name: string, count: number): readonly Charge[] =>
  Array.from({ length: count }, (_, at) => {
    const state = ['settled', 'settled', 'settled', 'released', 'open'][at % 5] ?? ''
    return {
      request: `${name}-${at}`,
      account: 1 + Math.floor(chance() * ACCOUNTS.length),
      key: chance() < 0.3 ? null : 1 + Math.floor(chance() * 3),
      model: `m${Math.floor(chance() * 2)}`,
      state,
      amount: state === 'settled' ? Math.floor(chance() * 1_000) : 0,
      opened: NOW - Math.floor(chance() * 6 * DAY),
      input: Math.floor(chance() * 100),
      served: servedOf(at),
    }
  })

/** No tag, one or two; a quote and a name that looks like a member. */
const servedOf = (at: number): string | null =>
  at % 4 === 0
    ? null
    : JSON.stringify({
        upstream: '"tags":{',
        // JSON functions of PostgreSQL refuse such texts.
        id: 'a\u0000',
        model: '\ud800',
        ...(at % 4 > 1 && { tags: { project: at % 8 < 4 ? 'alpha' : "b'x" } }),
        ...(at % 4 === 3 && { tags: { project: 'alpha', feature: `f${at % 3}` } }),
      })

for (const engine of ENGINES)
  t.test(`sums of days on ${engine}`, async t => {
    const chance = createChance()
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await database.migrate('standing', MEMBERSHIP_TABLES)
    await database.migrate('auth', credentials)
    await database.migrate('meter', OLD)
    for (const account of ACCOUNTS) await giveCredit(database, account, 10n ** 9n)
    const charges = randomCharges(chance, 'old', 200)
    await insertLikeOlderVersion(database, charges, false)
    const refunds = charges.filter(({ amount }, at) => amount > 0 && at % 7 === 0)
    for (const { request, account } of refunds)
      await database.write(refundStatements(request, [account * 2], NOW).slice(1))
    // The sums without the tokens of answers.
    await database.migrate('meter', BEFORE_OUTPUT)
    await insertLikeOlderVersion(database, randomCharges(chance, 'middle', 60))
    await refundOf(database, 'middle-1')
    await chargeInOneRow(database, 'middle-row')
    await database.migrate('meter', migrations)

    const compare = async (t: { same(...values: unknown[]): boolean }) => {
      for (let round = 0; round < 30; round++) {
        const period = randomPeriod(chance)
        for (const account of ACCOUNTS) {
          const values = [...accountValuesIn(account, period, NOW), null, null, 10_000]
          const expected = await cellsOf(database, account, period)
          t.same(await database.read(BY_DAY_AND_MODEL, values), expected, JSON.stringify(period))
          const tagged = await database.read(listOf('tag'), [
            ...values.slice(0, -1),
            1,
            '0',
            '0',
            99,
          ])
          t.same(tagged, await tagsOf(database, period, account), `tags, ${JSON.stringify(period)}`)
          for (const sum of tagged) {
            const [name = '', value = ''] = String(sum.name).split('=')
            const rest = [account, period.from, period.to, name, value, null, null, 1, '0', '0', 99]
            const models = await database.read(MODELS_OF_TAG['name asc'] as Sql, rest)
            t.same({ ...totalOf(models), name: sum.name }, sum, `models of ${sum.name}`)
          }
        }
        const top = await database.read(topUsage('account'), [...valuesIn(period, NOW), 10])
        t.same(top, await topOf(database, period))
        const tags = await database.read(topUsage('tag'), [...valuesIn(period, NOW), 99])
        t.same(byName(tags), await tagsOf(database, period))
      }
      t.same(await findings(database), [])
    }
    t.test('sums of days: a migrated store has those of its charges', async t => {
      await compare(t)
    })
    t.test('sums of days: charges of an older gateway are added by the store', async t => {
      await insertLikeOlderVersion(database, randomCharges(chance, 'beside', 60))
      await chargeInOneRow(database, 'beside-row')
      await database.write([
        {
          sql: sql(
            'settle',
            `UPDATE charges SET state = 'settled', amount = 0,
               usage = '{"input":7,"output":11,"thinking":2}', lines = '[]', closed = ? WHERE state = 'open' AND account = 1`,
          ),
          values: [NOW],
        },
        {
          sql: sql(
            'release',
            "UPDATE charges SET state = 'released', closed = ? WHERE state = 'open' AND account = 2",
          ),
          values: [NOW],
        },
        ...refundStatements('beside-0', [2], NOW).slice(1),
      ])
      await refundOf(database, 'beside-3')
      await compare(t)
    })
    t.test('sums of days: token counts of 2^53 do not overflow the sum', async t => {
      const huge = { ...charges[0], request: 'huge', state: 'settled', input: 2 ** 53 } as Charge
      for (const at of [1, 2, 3, 4])
        await insertLikeOlderVersion(database, [{ ...huge, request: `huge-${at}` }])
      t.same(await findings(database), [])
    })
  })

/** The sum of sums. */
const totalOf = (sums: readonly Row[]) => {
  const columns = ['calls', 'amount', 'refunded', 'input', 'cached', 'output']
  return Object.fromEntries(
    columns.map(name => [name, sums.reduce((total, each) => total + Number(each[name]), 0)]),
  )
}
/** Without the rules of wallets: this test changes charges alone. */
const findings = async (database: OpenDatabase) =>
  (await audit(database)).filter(({ rule }) => rule === 'sums of a day = its charges')

const refundOf = (database: OpenDatabase, request: string) =>
  database.write(refundStatements(request, [2], NOW).slice(1))
/** `hasServed`: charges have the column `served`. */
const insertLikeOlderVersion = (
  database: OpenDatabase,
  charges: readonly Charge[],
  hasServed = true,
) =>
  database.write(
    charges.flatMap(({ request, account, key, model, state, amount, opened, input, served }) => {
      const first = state === 'released' ? 'open' : state
      const values: Value[] = [request, account, key, model, first, amount, opened]
      const text = `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held,
          amount, opened, usage, lines, closed${hasServed ? ', served' : ''})
        VALUES (?, ?, CAST(? AS BIGINT), 'gone', 'r', ?, 1, '{}', ?, 1000, ?, ?, ?, '[]', ?${hasServed ? ', CAST(? AS TEXT)' : ''})`
      const usage = usageOf(input)
      const release = "UPDATE charges SET state = 'released' WHERE request = ?"
      return [
        {
          sql: sql(`older version ${hasServed}`, text),
          values: [...values, usage, opened + 100, ...(hasServed ? [served] : [])],
        },
        ...(state === 'released'
          ? [{ sql: sql('older release', release), values: [request] }]
          : []),
      ]
    }),
  )

const usageOf = (input: number): string =>
  JSON.stringify({
    input,
    cached: input % 5,
    cache_write: input % 3,
    cache_write_1h: input % 2,
    output: input * 2,
    thinking: input % 7,
  })
/** As the first version with sums of days: its list adds input and cached tokens only. */
const chargeInOneRow = (database: OpenDatabase, request: string) =>
  database.write([
    {
      sql: sql(
        'older charge in one row',
        `INSERT INTO charges (request, account, key, process, route, model, version, rule, state, held,
          amount, opened, usage, lines, closed, summed)
         VALUES (?, 1, 2, 'gone', 'r', 'm1', 1, '', 'settled', 0, 0, ?, ?, '[]', ?, 1)`,
      ),
      values: [request, NOW, usageOf(13), NOW],
    },
    {
      sql: sql(
        'older sum',
        `INSERT INTO usage_days (day, account, key, model, calls, amount, input, cached)
         VALUES (?, 1, 2, 'm1', 1, 0, 13, 3) ON CONFLICT (day, account, key, model) DO UPDATE SET
           calls = usage_days.calls + 1, input = usage_days.input + 13, cached = usage_days.cached + 3`,
      ),
      values: [Math.floor(NOW / DAY)],
    },
  ])

interface Period {
  readonly from: number
  readonly to: number
}
/** Some begin or end at midnight, in one day, or after now. */
const randomPeriod = (chance: () => number): Period => {
  const at = () => {
    const instant = NOW - Math.floor((chance() * 8 - 1) * DAY)
    return chance() < 0.3 ? Math.floor(instant / DAY) * DAY : instant
  }
  const [from, to] = [at(), at()]
  return from < to ? { from, to } : { from: to, to: from + 1 }
}

const closedIn = (database: OpenDatabase, { from, to }: Period): Promise<readonly Row[]> =>
  database.read(
    sql(
      'closed',
      `SELECT c.account, c.model, c.state, c.amount, c.opened, c.usage, c.served, coalesce(r.amount, 0) AS refunded
       FROM charges c LEFT JOIN credits r ON r.request = c.request
       WHERE c.opened >= ? AND c.opened < ? AND c.state <> 'open'`,
    ),
    [from, to],
  )
const cellsOf = async (database: OpenDatabase, account: number, period: Period) => {
  const cells = new Map<string, Record<string, number | string>>()
  for (const row of await closedIn(database, period)) {
    if (row.account !== account) continue
    const day = Math.floor(Number(row.opened) / DAY)
    const cell = cells.get(`${day} ${row.model}`) ?? {
      day,
      model: String(row.model),
      calls: 0,
      failed: 0,
      amount: 0,
      refunded: 0,
      input: 0,
      cached: 0,
      output: 0,
    }
    const meters = JSON.parse(String(row.usage))
    const { input = 0, cached = 0, cache_write = 0, cache_write_1h = 0 } = meters
    const { output = 0, thinking = 0 } = meters
    const more = {
      calls: 1,
      failed: row.state === 'released' ? 1 : 0,
      amount: Number(row.amount),
      refunded: Number(row.refunded),
      input: input + cache_write + cache_write_1h,
      cached: Number(cached),
      output: output + thinking,
    }
    const isCharged = row.state === 'settled'
    for (const [name, value] of Object.entries(more))
      if (isCharged || !['input', 'cached', 'output'].includes(name))
        cell[name] = Number(cell[name]) + value
    cells.set(`${day} ${row.model}`, cell)
  }
  return [...cells.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, cell]) => cell)
}
const topOf = async (database: OpenDatabase, period: Period) => {
  const rows = await closedIn(database, period)
  return ACCOUNTS.map(name => {
    const own = rows.filter(({ account, state }) => account === name && state === 'settled')
    const sum = (column: string) => own.reduce((total, row) => total + Number(row[column]), 0)
    const meter = (...names: string[]) =>
      own.reduce((total, { usage }) => {
        const meters = JSON.parse(String(usage))
        return names.reduce((all, each) => all + Number(meters[each] ?? 0), total)
      }, 0)
    return {
      name,
      calls: own.length,
      amount: sum('amount'),
      refunded: sum('refunded'),
      input: meter('input', 'cache_write', 'cache_write_1h'),
      cached: meter('cached'),
      output: meter('output', 'thinking'),
    }
  })
    .filter(({ calls }) => calls > 0)
    .sort((one, other) => other.amount - one.amount || one.name - other.name)
}

const listOf = (group: Group, sort: SumSort = 'name') => {
  const statement = sumsBy(group)[`${sort} asc`]
  if (!statement) throw new Error(group)
  return statement
}
const byName = (rows: readonly Row[]): readonly Row[] =>
  rows.toSorted((one, other) => (String(one.name) < String(other.name) ? -1 : 1))

/** The sums of each tag from the charges themselves. */
const tagsOf = async (database: OpenDatabase, period: Period, account?: number) => {
  const rows = await closedIn(database, period)
  const sums = new Map<string, Record<string, number | string>>()
  for (const row of rows) {
    if ((account !== undefined && row.account !== account) || row.state !== 'settled') continue
    const { tags = {} } = JSON.parse(String(row.served ?? '{}'))
    for (const [name, value] of Object.entries(tags)) {
      const tag = `${name}=${value}`
      const meters = JSON.parse(String(row.usage))
      const sum = sums.get(tag) ?? { name: tag }
      const more = {
        calls: 1,
        amount: Number(row.amount),
        refunded: Number(row.refunded),
        input: meters.input + (meters.cache_write ?? 0) + (meters.cache_write_1h ?? 0),
        cached: meters.cached ?? 0,
        output: (meters.output ?? 0) + (meters.thinking ?? 0),
      }
      for (const [column, count] of Object.entries(more))
        sum[column] = Number(sum[column] ?? 0) + count
      sums.set(tag, sum)
    }
  }
  return byName([...sums.values()])
}
