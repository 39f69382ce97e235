/** A process that is reaped while it writes a hold or a lease: in either order, no hold of it
 *  remains. */
import pg from 'pg'
import t from 'tap'
import type { Statement } from '../../../engine/plugin.ts'
import { registration } from '../../../engine/store/membership.ts'
import { translate } from '../../../engine/store/postgres/dialect.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import {
  addCredit,
  grantLease,
  openCharge,
  openWallet,
} from '../../../plugins/ledger/statements.ts'
import { makeLedger, reapAll } from '../../helpers/membership.ts'
import { eventually } from '../../helpers/primary.ts'
import { startAnyStore } from '../../helpers/store.ts'

const store = await startAnyStore(t, 'postgres')
const database = await store.open()
await makeLedger(database)
await database.write([
  openWallet(2, 0n),
  addCredit({ account: 1, kind: 'credit', amount: 1_000n, note: 'test', at: 0 }),
])
const client = new pg.Client({ connectionString: store.options.url })
await client.connect()
t.teardown(() => client.end())
const run = async (list: readonly Statement[]): Promise<void> => {
  for (const { sql, values } of list)
    await client.query({ text: translate(sql.postgres ?? sql.text).text, values: [...values] })
}
const hold = (request: string, heldAmount: bigint) =>
  openCharge({
    request,
    account: 1,
    key: undefined,
    holdsKeyQuota: false,
    process: 'p_1',
    route: 'r',
    model: 'm',
    version: 1,
    rule: '{}',
    heldAmount,
    openedAt: 0,
  })
/** Reaps the process as soon as the store unlocks its row. */
const reapOnce = () =>
  eventually(() => reapAll(database).catch(() => undefined)).then(count => t.equal(count, 1))
const waits = async (): Promise<true | undefined> => {
  const text = `SELECT 1 AS yes FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
  return (await database.read({ name: 'waits', text }, [])).length > 0 || undefined
}

for (const [name, list] of Object.entries({
  'a hold': [hold('a', 0n)],
  'a lease': grantLease('p_1', 2, 10n, 10n),
}))
  t.test(`reaping: releases ${name} that was uncommitted when it began`, async t => {
    await database.write([registration('p_1')])
    await client.query('BEGIN')
    await run(list)
    const reaping = reapOnce()
    await Promise.race([eventually(waits), reaping])
    await client.query('COMMIT')
    await reaping
    t.same(await audit(database), [])
    const [openCharges] = await database.read(
      { name: 'left', text: "SELECT count(*) AS open FROM charges WHERE state = 'open'" },
      [],
    )
    t.equal(openCharges?.open, 0)
  })
