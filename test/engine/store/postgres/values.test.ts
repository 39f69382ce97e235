/** PostgreSQL values: reads return the same types as with SQLite. */
import t from 'tap'
import type { Value } from '../../../../engine/plugin.ts'
import { sql, startAnyStore, statement } from '../../../helpers/store.ts'

const store = await startAnyStore(t, 'postgres')
const database = await store.open()
await database.migrate('test', [
  {
    number: 1,
    text: `CREATE TABLE kept (id INTEGER PRIMARY KEY AUTOINCREMENT, whole INTEGER, real REAL, words TEXT, bytes BLOB)`,
  },
])

t.test('PostgreSQL values: rows and generated ids are read as written', async t => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const cases: [string, Value, Value][] = [
    ['whole', 2n ** 63n - 1n, 2n ** 63n - 1n],
    ['whole', -(2n ** 63n), -(2n ** 63n)],
    ['whole', 9_007_199_254_740_993n, 9_007_199_254_740_993n],
    ['whole', 5n, 5],
    ['whole', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['real', 0.1, 0.1],
    ['words', '', ''],
    ['words', `né 漢字 🎈 \u0001 "'\\ {"n":"5"}`, `né 漢字 🎈 \u0001 "'\\ {"n":"5"}`],
    ['bytes', bytes, bytes],
    ['bytes', new Uint8Array(bytes.buffer, bytes.byteOffset, 3), bytes.subarray(0, 3)],
    ['bytes', Buffer.alloc(0), Buffer.alloc(0)],
    ['whole', null, null],
  ]
  for (const [index, [column, input, expected]] of cases.entries()) {
    const insert = `INSERT INTO kept (${column}) VALUES (?) RETURNING id, ${column} AS value`
    const [rows] = await database.write([statement(`keep ${column}`, insert, [input])])
    t.same(rows, [{ id: index + 1, value: expected }])
    const select = sql(`kept ${column}`, `SELECT ${column} AS value FROM kept WHERE id = ?`)
    t.same(await database.read(select, [index + 1]), [{ value: expected }])
  }
})

t.test('PostgreSQL values: sums, comparisons, JSON and times equal those of SQLite', async t => {
  const text = `SELECT sum(CAST(n AS BIGINT)) AS sum, avg(n) AS mean, count(*) AS n, max(n) = 2 AS top,
    CAST('{"a":1}' AS json) AS json, CAST('2030-01-31' AS date) AS day FROM (VALUES (1), (2)) AS v (n)`
  const [rows] = await database.write([statement('all', text)])
  t.same(rows, [{ sum: 3, mean: 1.5, n: 2, top: 1, json: '{"a":1}', day: '2030-01-31' }])
  const big = 'SELECT sum(n) AS sum FROM (VALUES (9007199254740993), (2)) AS v (n)'
  t.same(await database.read(sql('big', big), []), [{ sum: 9_007_199_254_740_995n }])
})

t.test(
  'PostgreSQL values: invalid ones are refused by the client, out-of-range ones by the server',
  async t => {
    const insert = 'INSERT INTO kept (whole) VALUES (?)'
    for (const value of [Number.NaN, Infinity, 2 ** 53, undefined, true, {}, new Date(0)]) {
      await t.rejects(database.write([statement('keep', insert, [value as Value])]), {
        code: 'STORE_VALUE',
      })
    }
    for (const value of ['five', 0.5, 2n ** 63n, 'nul \u0000']) {
      await t.rejects(database.write([statement('keep', insert, [value])]), {
        code: 'STORE_STATEMENT',
      })
    }
    t.same(await database.write([statement('fine', 'SELECT 1 AS one')]), [[{ one: 1 }]])
  },
)

t.test('PostgreSQL reads: one with an outdated plan is repeated on a new connection', async t => {
  const all = sql('all of it', 'SELECT * FROM kept WHERE id = 1')
  const write = () => database.write([{ sql: all, values: [] }])
  const read = () => database.read(all, [])
  for (const run of [read, write]) await run()
  const addColumn = 'ALTER TABLE kept ADD COLUMN later TEXT'
  await database.migrate('more', [{ number: 1, text: addColumn }])
  t.match(await read(), [{ id: 1, later: null }])
  t.match(await write(), [[{ id: 1, later: null }]])
})
