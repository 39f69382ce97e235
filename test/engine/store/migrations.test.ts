/** Migrations: numbered per owner, forward only, safe with concurrent processes. */
import t from 'tap'
import { sql, startBoth, startClient } from '../../helpers/store.ts'

for (const { engine, store, database } of await startBoth(t, [])) {
  /** The migrations of one owner, over a table of its name. */
  const shop = (name: string) => ({
    one: { number: 1, text: `CREATE TABLE ${name} (id BIGINT PRIMARY KEY, at BIGINT)` },
    two: {
      number: 2,
      text: `INSERT INTO ${name} VALUES (1, 2); INSERT INTO ${name} VALUES (2, 3)`,
    },
    three: { number: 3, text: `UPDATE ${name} SET at = at * 10` },
    rows: sql(`all of ${name}`, `SELECT id, at FROM ${name} ORDER BY id`),
  })

  t.test(`${engine} migrations: only new ones run`, async t => {
    const { one, two, three, rows } = shop('first')
    await database.migrate('first', [one, two])
    const oneIndented = { ...one, text: one.text.replace(' (', '\n   (') }
    await database.migrate('first', [oneIndented, two, three])
    t.same(await database.read(rows, []), [
      { id: 1, at: 20 },
      { id: 2, at: 30 },
    ])
    await database.migrate('first', [one])
    t.pass('a database with newer migrations is not changed')
    await database.migrate('other', [
      { number: 1, text: 'CREATE TABLE another (id BIGINT PRIMARY KEY)' },
    ])
    await t.rejects(database.migrate('first', [one, { ...two, text: 'SELECT 1' }]), {
      code: 'STORE_MIGRATION',
      message:
        'Migration 2 of "first" failed: its text changed after it was applied; add a migration with a new number',
    })
  })

  t.test(`${engine} migrations: numbers must count from one`, async t => {
    const { one, two, three, rows } = shop('numbered')
    for (const wrong of [[two], [one, three], [one, one], [one, { ...two, number: 1.5 }]]) {
      await t.rejects(database.migrate('numbered', wrong), {
        message: /expected number [12]/,
      })
    }
    await database.migrate('numbered', [])
    await database.migrate('numbered', [one, two])
    t.equal((await database.read(rows, [])).length, 2)
  })

  t.test(
    `${engine} migrations: a failing one is rolled back, and those before it stay applied`,
    async t => {
      const { one, two, three, rows } = shop('broken')
      const failing = { number: 3, text: 'DELETE FROM broken; INSERT INTO nowhere VALUES (1)' }
      await t.rejects(database.migrate('broken', [one, two, failing]), {
        code: 'STORE_MIGRATION',
        message: /^Migration 3 of "broken" failed: .*nowhere/,
      })
      t.equal((await database.read(rows, [])).length, 2)
      const ending = { number: 3, text: 'DELETE FROM another; COMMIT; SELECT 1' }
      await t.rejects(database.migrate('broken', [one, two, ending]), {
        message: /must not end its transaction/,
      })
      await database.migrate('broken', [one, two, three])
      t.pass('the repaired migration runs')
    },
  )

  t.test(`${engine} migrations: concurrent processes run each once`, async t => {
    const clients = await Promise.all([
      startClient(t, store.options),
      startClient(t, store.options),
    ])
    const { one, two, three, rows } = shop('raced')
    const increments = Array.from({ length: 20 }, (_, index) => ({
      number: index + 4,
      text: 'UPDATE raced SET at = at + 1',
    }))
    const all = [one, two, three, ...increments]
    await Promise.all(clients.map(client => client.call('migrate', 'raced', all)))
    t.same(await database.read(rows, []), [
      { id: 1, at: 40 },
      { id: 2, at: 50 },
    ])
  })
}
