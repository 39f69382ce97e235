/** A process that is buried at the instant in which it holds: whichever comes first, nothing is held by the dead. */
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
/** Buried as soon as the store lets go of its row. */
const buried = () =>
  eventually(() => reapAll(database).catch(() => undefined)).then(count => t.equal(count, 1))
const waits = async (): Promise<true | undefined> => {
  const text = `SELECT 1 AS yes FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
  return (await database.read({ name: 'waits', text }, [])).length > 0 || undefined
}

for (const [what, list] of Object.entries({
  'a hold': [hold('a', 0n)],
  'a share': grantLease('p_1', 2, 10n, 10n),
}))
  t.test(`${what} that is not committed when the burial comes goes back with it`, async t => {
    await database.write([registration('p_1')])
    await client.query('BEGIN')
    await run(list)
    const burial = buried()
    await Promise.race([eventually(waits), burial])
    await client.query('COMMIT')
    await burial
    t.same(await audit(database), [])
    const [left] = await database.read(
      { name: 'left', text: "SELECT count(*) AS open FROM charges WHERE state = 'open'" },
      [],
    )
    t.equal(left?.open, 0)
  })
