/** Alerts at shares of a budget: once for each share and window, whatever process looks. */
import t from 'tap'
import { sendBudgetAlerts } from '../../../../plugins/alerts/budgets.ts'
import { migrations } from '../../../../plugins/alerts/tables.ts'
import { migrations as accountMigrations } from '../../../../plugins/credentials/tables.ts'
import { removeBudgetRow, setBudgetRow } from '../../../../plugins/ledger/budgets/rows.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { arrangeBudgets, COST } from '../../../helpers/money/budgets.ts'
import { ENGINES, sql } from '../../../helpers/store/store.ts'

const TO = [
  { kind: 'slack', url: 'https://a.example' },
  { kind: 'webhook', url: 'https://b.example' },
] as never
const METRICS = { count: () => {}, gauge: () => {} } as never

for (const engine of ENGINES)
  t.test(`alert_at on ${engine}`, async t => {
    const monthly = {
      of: 'account',
      amount: 0.0245,
      per: 'month',
      zone: 'Asia/Tokyo',
      alert_at: ['20%', '50%', '100%'],
    }
    const soft = { of: 'account', amount: 0.006, per: 'life', at_limit: 'warn', alert_at: ['100%'] }
    const { urls, call, books, database, gateway } = await arrangeBudgets(t, engine, {
      monthly,
      soft,
    })
    const [url = ''] = urls
    await database.migrate('auth', accountMigrations)
    await database.migrate('alerts', migrations)
    let configured: object = { monthly, soft }
    const section = (name: string) => (name === 'budgets' ? configured : {}) as never
    const look = () =>
      sendBudgetAlerts({ database, log: SILENT_LOG, metrics: METRICS, section }, { to: TO })
    const messages = async () => {
      await books()
      await Promise.all([look(), look(), look()])
      const rows = await database.read(
        sql('messages', 'SELECT receiver, object, text FROM alert_messages ORDER BY created, text'),
        [],
      )
      t.equal(new Set(rows.map(({ receiver }) => receiver)).size, rows.length === 0 ? 0 : 2)
      return [...new Set(rows.map(({ text }) => String(text)))].length * 2 === rows.length
        ? [...new Set(rows.map(({ text }) => String(text)))].toSorted()
        : ['a message was sent twice']
    }
    t.same(await messages(), [])
    t.equal((await call(url)).status, 200)
    const first = [
      'The budget monthly of account 1 has used 20%: 0.006 of 0.0245.',
      'The budget soft of account 1 has used 100%: 0.006 of 0.006.',
    ]
    t.same(await messages(), first)
    t.equal((await call(url)).status, 200)
    t.same(await messages(), first, 'a share that was told is not told again')
    t.equal((await call(url)).status, 200)
    const second = 'The budget monthly of account 1 has used 50%: 0.018 of 0.0245.'
    t.same(await messages(), [...first, second].toSorted())
    // An amount below the use reaches its share at once; one that is raised repeats none.
    const lower = await gateway({ monthly: { ...monthly, amount: 0.018 } })
    t.equal((await call(lower)).status, 429)
    const third = 'The budget monthly of account 1 has used 100%: 0.018 of 0.018.'
    t.same(await messages(), [...first, second, third].toSorted())
    const higher = await gateway({ monthly: { ...monthly, amount: 0.03 } })
    t.equal((await call(higher)).status, 200)
    t.same((await messages()).length, 4)
    t.equal((await call(higher, undefined, 2)).status, 200)
    t.match(await messages(), { length: 5 }, 'another account has its own')
    t.equal(COST, 6_000_000n)
    const unsend = sql('unsend', 'UPDATE budget_alerts SET sent = NULL WHERE share = 20')
    const unsent = sql(
      'unsent',
      'SELECT wallet FROM budget_alerts WHERE share = 20 AND sent IS NULL',
    )
    const remove = sql('empty', 'DELETE FROM alert_messages')
    await database.write([
      { sql: unsend, values: [] },
      { sql: remove, values: [] },
    ])
    configured = { soft }
    t.same(await messages(), [], 'a budget that was removed has no message')
    t.same(await database.read(unsent, []), [])
    const key = { kind: 'account', owner: 1, name: 'monthly' } as const
    await database.write([
      { sql: unsend, values: [] },
      ...setBudgetRow(key, 1, { amount: 1, per: 'month' }),
    ])
    t.match(await messages(), { length: 1 }, 'one of the store has')
    await database.write([{ sql: unsend, values: [] }, ...removeBudgetRow(key)])
    t.match(await messages(), { length: 1 }, 'until it is removed, too')
  })
