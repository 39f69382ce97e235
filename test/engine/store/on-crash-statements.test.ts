/** On-crash statements: a peer applies them when their process crashes. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { DatabaseOptions, OpenDatabase } from '../../../engine/store/database.ts'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { reaperOn } from '../../helpers/membership.ts'
import { sql, startBoth, startClient, startStore, statement } from '../../helpers/store.ts'

const last = {
  number: MEMBERSHIP_TABLES.length + 1,
  text: `CREATE TABLE hold (id TEXT PRIMARY KEY, state TEXT NOT NULL, used BIGINT);
    INSERT INTO hold VALUES ('a', 'open', 0), ('b', 'open', 0), ('c', 'open', 0)`,
}
const SETTLE = `UPDATE hold SET state = ?, used = ? WHERE id = ? AND state = 'open'`
const settle = (id: string, amount: number, by = 'crash') =>
  statement('settle', SETTLE, [by, amount, id], { rows: 1, otherwise: 'CLOSED' })
const HOLDS = sql('holds', 'SELECT id, state, used FROM hold ORDER BY id')
const PENDING = sql('on-crash statements', 'SELECT name FROM tollgate_wills')

/** Heartbeat interval, ms. */
const SWIFT = 100
/** Polls until the condition holds; the timeout of the test is the limit. */
const until = async (database: OpenDatabase, expected: string[]): Promise<void> => {
  for (;;) {
    const rows = await database.read(HOLDS, [])
    const states = rows.map(({ state, used }) => `${state} ${used}`)
    if (states.join() === expected.join()) return
    await later(10)
  }
}
/** Refused on-crash statements are cleared in a separate commit. */
const untilNonePending = async (database: OpenDatabase): Promise<void> => {
  while ((await database.read(PENDING, [])).length > 0) await later(10)
}

const register = async (t: Test, options: DatabaseOptions) => {
  const client = await startClient(t, options)
  await client.call('register')
  return client
}

for (const { engine, store, database } of await startBoth(t, [...MEMBERSHIP_TABLES, last])) {
  const folder = store.options.data ?? ''
  reaperOn(t, database, SWIFT)
  /** A client of the same store, with every hold open again. */
  const reopenHolds = async (t: Test) => {
    await database.write([statement('open', `UPDATE hold SET state = 'open', used = 0`)])
    return { client: await register(t, store.options) }
  }

  t.test(
    `${engine} on-crash statements: the last list of each name applies after kill -9`,
    async t => {
      const { client } = await reopenHolds(t)
      await client.call('setCrashStatements', 'exchange 1', [settle('a', 1)])
      await client.call('setCrashStatements', 'exchange 2', [settle('b', 1)])
      await client.call('setCrashStatements', 'exchange 1', [settle('a', 5)])
      await client.call('write', [settle('c', 9, 'direct')])
      await client.kill()
      await until(database, ['crash 5', 'crash 1', 'direct 9'])
      await untilNonePending(database)
      t.pass('settled, and no on-crash statements remain')
    },
  )

  t.test(
    `${engine} on-crash statements: apply with the last progress count of their exchange`,
    async t => {
      await database.write([statement('open', `UPDATE hold SET state = 'open', used = 0`)])
      const client = await register(t, store.options)
      const settleByProgress = (id: string, amount: number) => ({
        ...settle(id, amount),
        progress: 1,
      })
      await client.call('progress', 'exchange 0', 77)
      await client.call('setCrashStatements', 'exchange 1', [settleByProgress('a', 1)])
      await client.call('progress', 'exchange 1', 41)
      await client.call('setCrashStatements', 'exchange 2', [settleByProgress('b', 5)])
      await client.call('progress', 'exchange 2', 4)
      await client.call('setCrashStatements', 'exchange 0', [])
      await client.call('setCrashStatements', 'exchange 3', [settleByProgress('c', 9)])
      await client.call('progress', 'exchange 1', 42)
      await client.call('progress', 'n'.repeat(56), 1)
      await client.call('write', [statement('order behind the messages', 'SELECT 1')])
      await client.kill()
      await until(database, ['crash 42', 'crash 5', 'crash 9'])
      await untilNonePending(database)
      while (readdirSync(join(folder, 'progress')).length > 0) await later(10)
      t.pass('the last count, never less than the stored value; the file is removed')
    },
  )

  t.test(`${engine} on-crash statements: do not apply before the first progress count`, async t => {
    const { client } = await reopenHolds(t)
    await client.call('setCrashStatements', 'exchange 1', [{ ...settle('a', 0), progress: 1 }])
    await client.call('setCrashStatements', 'exchange 2', [{ ...settle('b', 0), progress: 1 }])
    await client.call('progress', 'exchange 2', 0)
    await client.call('setCrashStatements', 'exchange 3', [settle('c', 0)])
    await client.call('write', [statement('order behind the messages', 'SELECT 1')])
    await client.kill()
    await until(database, ['open 0', 'crash 0', 'crash 0'])
    await untilNonePending(database)
    t.pass('only lists whose exchange has made progress')
  })

  t.test(
    `${engine} on-crash statements: are removed when their process closes the store`,
    async t => {
      const { client } = await reopenHolds(t)
      await client.call('setCrashStatements', 'exchange 1', [settle('a', 1)])
      await client.call('close')
      await client.kill()
      await database.write([settle('b', 2, 'other')])
      await until(database, ['open 0', 'other 2', 'open 0'])
      await untilNonePending(database)
      t.pass('settled, and no on-crash statements remain')
    },
  )

  t.test(
    `${engine} on-crash statements: do not apply once cleared or after a settlement`,
    async t => {
      const { client } = await reopenHolds(t)
      await client.call('setCrashStatements', 'exchange 1', [settle('a', 1)])
      await client.call('setCrashStatements', 'exchange 1', [])
      await client.call('setCrashStatements', 'exchange 2', [settle('b', 1)])
      await client.call('setCrashStatements', 'exchange 3', [settle('c', 1)])
      await client.call('write', [settle('b', 7, 'direct')])
      await client.kill()
      await until(database, ['open 0', 'direct 7', 'crash 1'])
      await untilNonePending(database)
      t.pass('settled, and no on-crash statements remain')
    },
  )
}

const beginWithWriter = async (t: Test) => {
  const store = await startStore(t)
  const database = await store.open()
  await database.migrate('test', [...MEMBERSHIP_TABLES, last])
  return { store, database, client: await register(t, { url: 'sqlite:', data: store.data }) }
}
t.test('SQLite on-crash statements: a peer applies them after a restart of the writer', async t => {
  const { store, database, client } = await beginWithWriter(t)
  await client.call('setCrashStatements', 'exchange 1', [settle('a', 3)])
  await client.call('write', [settle('b', 2, 'direct')])
  await Promise.all([store.kill(), client.kill()])
  reaperOn(t, database, SWIFT)
  await store.respawn()
  await until(database, ['crash 3', 'direct 2', 'open 0'])
})

t.test(
  'SQLite on-crash statements: a living process keeps them after a restart of the writer',
  async t => {
    const { store, database, client } = await beginWithWriter(t)
    reaperOn(t, database, SWIFT)
    await client.call('setCrashStatements', 'exchange 1', [settle('a', 3)])
    await client.call('setCrashStatements', 'exchange 2', [settle('b', 3)])
    await client.call('write', [settle('c', 2, 'direct')])
    await store.kill()
    await client.call('setCrashStatements', 'exchange 2', [])
    await store.respawn()
    await later(700)
    await until(database, ['open 0', 'open 0', 'direct 2'])
    t.same(
      await database.read(PENDING, []),
      [{ name: 'exchange 1' }],
      'the cleared list is not stored',
    )
    await client.kill()
    await until(database, ['crash 3', 'open 0', 'direct 2'])
  },
)
