/** Reads: do not block the event loop, cannot write, and contain every write acknowledged to the
 *  process. */
import t from 'tap'
import { sql, startBoth, statement } from '../../../helpers/store.ts'

for (const { engine, store, database } of await startBoth(t, [
  { number: 1, text: 'CREATE TABLE item (id BIGINT PRIMARY KEY)' },
])) {
  const insert = (id: number) =>
    statement('insert', 'INSERT INTO item VALUES (?)', [id], { rows: 1 })
  const HAS = sql('has', 'SELECT id FROM item WHERE id = ?')

  t.test(`${engine} reads: a process reads its own writes at once`, async t => {
    const other = await store.open()
    for (let id = 1; id <= 100; id++) {
      const by = id % 2 ? database : other
      await by.write([insert(id)])
      t.same(await by.read(HAS, [id]), [{ id }])
    }
  })

  t.test(`${engine} reads: pages end with the last row`, async t => {
    const AFTER = sql(
      'after',
      'SELECT id FROM item WHERE id % 2 = ? AND id > ? ORDER BY id LIMIT ?',
    )
    const sizes: number[] = []
    const ids: unknown[] = []
    for await (const page of database.pages(AFTER, [0, 0], 20)) {
      sizes.push(page.length)
      ids.push(...page.map(({ id }) => id))
    }
    t.same(sizes, [20, 20, 10])
    t.equal(new Set(ids).size, 50)
    for await (const page of database.pages(AFTER, [0, 1_000], 20)) t.fail(`no page: ${page}`)
  })

  t.test(`${engine} reads: a read cannot write`, async t => {
    await t.rejects(database.read(sql('write', 'DELETE FROM item'), []), {
      code: 'STORE_STATEMENT',
      message: /"write" failed: .*read-?only/,
    })
    t.same(await database.read(HAS, [1]), [{ id: 1 }])
  })

  t.test(
    `${engine} reads: a failing one names its statement, and the next one succeeds`,
    async t => {
      await t.rejects(database.read(sql('wrong', 'SELECT x FROM nowhere'), []), {
        code: 'STORE_STATEMENT',
        message: /^Statement "wrong" failed: .*nowhere/,
      })
      await t.rejects(database.read(HAS, []), { message: /1 parameters, but 0 values/ })
      t.same(await database.read(HAS, [2]), [{ id: 2 }])
    },
  )

  t.test(`${engine} reads: a long one does not block the event loop`, async t => {
    const LONG = sql(
      'long',
      'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT count(*) AS n FROM n',
    )
    let turns = 0
    const turn = setInterval(() => turns++, 1)
    t.same(await database.read(LONG, [1_000_000]), [{ n: 1_000_000 }])
    clearInterval(turn)
    t.ok(turns > 10, `${turns} turns of the loop meanwhile`)
  })

  t.test(`${engine} clock: now() returns the time of the store`, async t => {
    const before = Date.now()
    const now = await database.now()
    t.ok(now >= before && now <= Date.now())
  })

  t.test(`${engine} store: reads and writes reject once it is closed`, async t => {
    const closedDatabase = await store.open()
    await closedDatabase.close()
    await t.rejects(closedDatabase.write([insert(1_000)]), { code: 'STORE_UNAVAILABLE' })
    await t.rejects(closedDatabase.read(HAS, [1]), { code: 'STORE_UNAVAILABLE' })
    await closedDatabase.close()
  })
}
