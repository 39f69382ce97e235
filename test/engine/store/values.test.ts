/** Values: bigint beyond 2^53, bytes and any text are stored exactly, and arithmetic is exact. */
import t from 'tap'
import type { Value } from '../../../engine/plugin.ts'
import { sql, startStore, statement } from '../../helpers/store.ts'

const store = await startStore(t)
const database = await store.open()
await database.migrate('test', [
  { number: 1, text: 'CREATE TABLE kept (id BIGINT PRIMARY KEY, value)' },
])
const INSERT = 'INSERT INTO kept VALUES (?, ?) RETURNING value, typeof(value) AS type'
const plain = (value: unknown) => (value instanceof Uint8Array ? [...value] : value)
let last = 0
const insert = async (value: Value) => {
  const id = ++last
  const [[row] = []] = await database.write([statement('insert', INSERT, [id, value])])
  const [read] = await database.read(sql('kept', 'SELECT value FROM kept WHERE id = ?'), [id])
  t.same(plain(read?.value), plain(row?.value), 'read as written')
  return row ?? {}
}

t.test('SQLite values: are read as written', async t => {
  const cases: [Value, Value, string][] = [
    [2n ** 63n - 1n, 2n ** 63n - 1n, 'integer'],
    [-(2n ** 63n), -(2n ** 63n), 'integer'],
    [9_007_199_254_740_993n, 9_007_199_254_740_993n, 'integer'],
    [5n, 5, 'integer'],
    [5, 5, 'integer'],
    [-0, 0, 'integer'],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 'integer'],
    [0.1, 0.1, 'real'],
    [null, null, 'null'],
    ['', '', 'text'],
    [`né 漢字 🎈 \u0001 "'\\ {"n":"5"}`, `né 漢字 🎈 \u0001 "'\\ {"n":"5"}`, 'text'],
  ]
  for (const [input, expected, type] of cases) {
    t.same(await insert(input), { value: expected, type }, `${typeof input} ${input}`)
  }
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const { value, type } = await insert(bytes)
  t.ok(bytes.equals(value as Buffer))
  t.equal(type, 'blob')
})

t.test('SQLite values: arithmetic with a parameter is exact', async t => {
  const text = 'SELECT 9007199254740993 + ? AS sum, typeof(? + 0) AS type'
  const [rows] = await database.write([statement('sum', text, [2, 2])])
  t.same(rows, [{ sum: 9_007_199_254_740_995n, type: 'integer' }])
  t.same(await database.read(sql('sum', text), [2, 2]), rows)
})

t.test(
  'SQLite values: an invalid one is refused by the client, and the next list succeeds',
  async t => {
    for (const value of [
      Number.NaN,
      Infinity,
      2 ** 53,
      undefined,
      true,
      {},
      new Date(0),
      Symbol('s'),
    ]) {
      await t.rejects(database.write([statement('insert', INSERT, [++last, value as Value])]), {
        code: 'STORE_VALUE',
      })
    }
    t.same(await insert('fine'), { value: 'fine', type: 'text' })
  },
)
