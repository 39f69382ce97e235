/** The statements of the ledger find their rows by an index: none reads a whole table, however
 *  many charges there are. */
import t from 'tap'
import type { Sql } from '../../../../engine/plugin.ts'
import { OLD_CHARGES, PRESENT, UNFINISHED } from '../../../../plugins/ledger/archive/statements.ts'
import { audit } from '../../../../plugins/ledger/audit.ts'
import { CHARGES } from '../../../../plugins/ledger/commands/export.ts'
import { settleCheckpoints } from '../../../../plugins/ledger/crash/crash-settlement.ts'
import { releaseProcess } from '../../../../plugins/ledger/crash/processes.ts'
import { IS_KEPT } from '../../../../plugins/ledger/kept-hold.ts'
import { OUTSIDE, ROOM_IN, UNUSED_LEASES } from '../../../../plugins/ledger/statements.ts'
import { BY_DAY_AND_MODEL } from '../../../../plugins/ledger/views/overview.ts'
import * as usage from '../../../../plugins/ledger/views/usage.ts'
import { CALLS, SEARCH_END, sumsBy } from '../../../../plugins/ledger/views/usage-lists.ts'
import { SILENT_LOG } from '../../../helpers/gateway/test-server.ts'
import { openMemory } from '../model/memory.ts'

/** Tables with a row for each charge or wallet. Partial indexes of `charges` hold few rows;
 *  those of budgets and plans hold the calls that name one, which their audits read. */
const LARGE =
  /^SCAN (?:c|charges|r|credits|usage_days|w|wallets|o|archived_\w+)\b(?! USING (?:COVERING )?INDEX charges_(?:open|task|uncollected|budgets|plan))/
const isLarge = (detail: string): boolean => LARGE.test(detail)

const memory = openMemory()
const planOf = ({ text }: Sql): readonly string[] =>
  memory.rows(`EXPLAIN QUERY PLAN ${text}`).map(({ detail }) => String(detail))

/** Statements that a function reads. */
const readsOf = async (
  run: (database: { read(sql: Sql): Promise<never[]> }) => Promise<unknown>,
): Promise<readonly Sql[]> => {
  const statements: Sql[] = []
  await run({
    read: async sql => {
      statements.push(sql)
      const rows = { 'audit: wallets': [{ id: 2 }], 'audit: next day': [{ day: 1 }] }
      const isFirst = statements.filter(({ name }) => name === sql.name).length === 1
      return (isFirst ? (rows[sql.name as keyof typeof rows] ?? []) : []) as never[]
    },
  })
  return statements
}
const checkpoints = await readsOf(database =>
  settleCheckpoints({ ...database, write: async () => [] }, SILENT_LOG, 0, 'gone'),
)
const audits = await readsOf(audit)
const statements: readonly Sql[] = [
  ...Object.values(usage).filter((each): each is Sql => typeof each === 'object' && 'text' in each),
  ...Object.values(usage.ALL_CALLS),
  ...Object.values(usage.CALLS_OF),
  ...Object.values(SEARCH_END),
  ...Object.values(CALLS),
  ...Object.values(sumsBy('day')),
  ...Object.values(sumsBy('key')),
  ...Object.values(CHARGES),
  BY_DAY_AND_MODEL,
  usage.topUsage('account'),
  OLD_CHARGES,
  PRESENT,
  UNFINISHED,
  IS_KEPT,
  OUTSIDE,
  ROOM_IN,
  UNUSED_LEASES,
  ...releaseProcess('gone', 0).map(({ sql }) => sql),
  ...checkpoints,
  ...audits,
]

t.test('ledger statements: find their rows by an index', async t => {
  t.ok(statements.length > 40)
  for (const sql of statements) {
    const scans = planOf(sql).filter(isLarge)
    t.same(scans, [], sql.name)
  }
})
t.test('ledger statements: a statement without an index is found', async t => {
  t.ok(planOf({ name: 'x', text: "SELECT count(*) FROM charges WHERE model = 'm'" }).some(isLarge))
})
