/** Merged statements: many additions, and many INSERTs, of one commit are applied as one, with the
 *  same visible result. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Step } from '../../../engine/store/merged-statements.ts'
import { createGroupCommit, type List } from '../../../engine/store/sqlite/group-commit.ts'
import { prepareStore } from '../../../engine/store/sqlite/migrate.ts'
import { openForWriting } from '../../../engine/store/sqlite/sqlite.ts'
import { sql, startBoth, statement, temporaryFolder } from '../../helpers/store/store.ts'

const table = {
  number: 1,
  text: `CREATE TABLE purse (id BIGINT PRIMARY KEY, left_over BIGINT NOT NULL CHECK (left_over >= 0));
    CREATE TABLE bill (id TEXT PRIMARY KEY, seen BIGINT);
    INSERT INTO purse VALUES (1, 100), (2, 9007199254740993)`,
}
const PAY = 'UPDATE purse SET left_over = left_over - ? WHERE id = ?'
const LOOK = 'UPDATE bill SET seen = (SELECT left_over FROM purse WHERE id = 1) WHERE id = ?'

const both = await startBoth(t, [table])

const arrange = (t: Test) => {
  const store = openForWriting(join(temporaryFolder(t), 'purse.db'))
  prepareStore(store)
  store.connection.exec(table.text)
  const texts: string[] = []
  const counting = {
    ...store,
    run(...args: Parameters<typeof store.run>) {
      texts.push(args[0])
      return store.run(...args)
    },
  }
  const balances = () =>
    store.run('SELECT left_over FROM purse ORDER BY id', []).rows.map(Object.values)
  t.teardown(() => store.close())
  return {
    commit: createGroupCommit(counting),
    store,
    texts,
    balances,
    countPayments: () => texts.filter(text => text === PAY).length,
  }
}
const pay = (amount: number | bigint, purse = 1): Step => ({
  text: PAY,
  rows: -1,
  sums: [0],
  values: [amount, purse],
})
const bill = (id: string, ...steps: readonly Step[]): List => ({
  client: 'c',
  number: Number(id.slice(1)),
  isRepeat: false,
  once: true,
  steps: [{ text: 'INSERT INTO bill (id) VALUES (?)', rows: 1, values: [id] }, ...steps],
})

t.test('summed statements: forty additions become one per row', async t => {
  const { commit, balances, countPayments } = arrange(t)
  const lists = Array.from({ length: 40 }, (_, at) => bill(`b${at}`, pay(2), pay(1n, 2)))
  t.ok(commit(lists).every(outcome => 'rows' in outcome && outcome.rows.length === 3))
  t.same(balances(), [[20], [9007199254740953]], 'exactly')
  t.equal(countPayments(), 2)
})

t.test('summed statements: sums beyond 2^53 are exact', async t => {
  const { commit, store } = arrange(t)
  store.run('UPDATE purse SET left_over = 9007199254740999 WHERE id = 1', [])
  commit([bill('b1', pay(Number.MAX_SAFE_INTEGER)), bill('b2', pay(4)), bill('b3', pay(2))])
  t.match(store.run('SELECT left_over AS n FROM purse WHERE id = 1', []).rows, [{ n: 2 }])
})

t.test('summed statements: a statement with expected rows is checked on its own', async t => {
  const { commit, balances } = arrange(t)
  const must = (purse: number): Step => ({ ...pay(2, purse), rows: -2 })
  const [sound, missing, idle] = commit([
    bill('b1', pay(2), must(1)),
    bill('b2', pay(2, 9), must(9)),
    bill('b3', pay(2, 9)),
  ])
  t.match(sound, { rows: Array })
  t.match(missing, { refusal: { kind: 'rows', at: 2 } })
  t.match(idle, { rows: Array })
  t.same(balances(), [[96], [9007199254740993n]])
})

t.test(
  'summed statements: only the list whose addition violates a constraint is refused',
  async t => {
    const { commit, balances, store } = arrange(t)
    const outcomes = commit([bill('b1', pay(60)), bill('b2', pay(50)), bill('b3', pay(40))])
    t.match(outcomes, [{ rows: [] }, { refusal: { kind: 'violation', at: 1 } }, { rows: [] }])
    t.same(balances()[0], [0])
    t.equal(store.run('SELECT count(*) AS n FROM bill', []).rows[0]?.n, 2)
  },
)

t.test('summed statements: a read in the same commit sees earlier additions only', async t => {
  const { commit, store } = arrange(t)
  const look = { text: LOOK, rows: 1, values: ['b1'] }
  commit([bill('b1', pay(10)), { client: 'c', isRepeat: false, steps: [look] }, bill('b2', pay(5))])
  t.same(store.run("SELECT seen FROM bill WHERE id = 'b1'", []).rows, [{ seen: 90 }])
  commit([bill('b3', pay(5), { ...look, values: ['b3'] }), bill('b4', pay(5))])
  t.same(store.run("SELECT seen FROM bill WHERE id = 'b3'", []).rows, [{ seen: 80 }])
})

t.test('summed statements: a repeated `once` list is not applied again', async t => {
  const { commit, balances } = arrange(t)
  commit([bill('b1', pay(10))])
  t.match(commit([{ ...bill('b1', pay(10)), isRepeat: true }, bill('b2', pay(1))]), [
    { rows: [[], []] },
    { rows: [[], []] },
  ])
  t.same(balances()[0], [89])
})

const INSERT = 'INSERT INTO bill (id, seen) VALUES (?, (SELECT count(*) FROM purse))'
const joined = (id: string, ...steps: readonly Step[]): List => ({
  ...bill(id),
  steps: [{ text: INSERT, rows: 1, joins: true, values: [id] }, ...steps],
})

t.test('joined statements: seventy INSERTs become three, with every row', async t => {
  const { commit, store, texts } = arrange(t)
  const lists = Array.from({ length: 70 }, (_, at) => joined(`b${at}`, pay(1)))
  t.ok(commit(lists).every(outcome => 'rows' in outcome && outcome.rows.length === 2))
  t.equal(texts.filter(text => text.startsWith('INSERT INTO bill')).length, 3)
  const count = 'SELECT count(DISTINCT id) AS n, min(seen) AS least FROM bill'
  t.same(store.run(count, []).rows, [{ n: 70, least: 2 }])
})

t.test('joined statements: only the list whose row exists is refused', async t => {
  const { commit, balances } = arrange(t)
  commit([joined('b1', pay(1))])
  t.match(commit([joined('b2', pay(1)), joined('b1', pay(1)), joined('b3', pay(1))]), [
    { rows: Array },
    { refusal: { kind: 'violation', at: 0, unique: true } },
    { rows: Array },
  ])
  t.same(balances()[0], [97])
})

t.test('joined statements: a later statement of the commit reads the rows', async t => {
  const { commit, store } = arrange(t)
  const look = { text: LOOK, rows: 1, values: ['b1'] }
  const outcomes = commit([joined('b1', pay(10)), { client: 'c', isRepeat: false, steps: [look] }])
  t.match(outcomes, [{ rows: Array }, { rows: Array }])
  t.same(store.run('SELECT seen FROM bill', []).rows, [{ seen: 90 }])
})

t.test('joined statements: a repeated `once` list is not applied again', async t => {
  const { commit, balances } = arrange(t)
  commit([joined('b1', pay(10))])
  const again = { ...joined('b1', pay(10)), isRepeat: true }
  t.match(commit([joined('b2', pay(1)), again]), [{ rows: [[], []] }, { rows: [[], []] }])
  t.same(balances()[0], [89])
})

for (const { engine, database } of both)
  t.test(`${engine} summed statements: concurrent lists have exact sums`, async t => {
    const sums = { name: 'pay', text: PAY, sums: [0] }
    const bills = Array.from({ length: 30 }, (_, at) =>
      database.write([
        statement('bill', 'INSERT INTO bill (id) VALUES (?)', [`w${at}`], { rows: 1, once: true }),
        { sql: sums, values: [2, 1] },
        { sql: sums, values: [2n ** 53n, 2] },
      ]),
    )
    const results = await Promise.allSettled(bills)
    t.equal(
      results.filter(({ status }) => status === 'fulfilled').length,
      1,
      'the second purse covers one charge',
    )
    t.same(await database.read(sql('left', 'SELECT left_over AS n FROM purse ORDER BY id'), []), [
      { n: 98 },
      { n: 1 },
    ])
  })

for (const { engine, database } of both)
  t.test(`${engine} joined statements: a list whose row exists is refused alone`, async t => {
    const insert = { name: 'joined bill', text: INSERT, joins: true } as const
    const pay = { name: 'pay second', text: PAY, sums: [0] }
    const readFirst = sql('left in the first', 'SELECT left_over AS n FROM purse WHERE id = 1')
    const [before] = await database.read(readFirst, [])
    const write = (id: string) =>
      database.write([
        { sql: insert, values: [id], rows: 1, once: true, violates: { id: 'X', bill_pkey: 'X' } },
        { sql: pay, values: [1, 1] },
      ])
    await write('j0')
    const ids = Array.from({ length: 20 }, (_, at) => `j${at}`)
    const results = await Promise.allSettled(ids.map(write))
    t.match(results[0], { status: 'rejected', reason: { code: 'X' } })
    t.ok(results.slice(1).every(({ status }) => status === 'fulfilled'))
    const rows = "SELECT count(*) AS n, min(seen) AS least FROM bill WHERE id LIKE 'j%'"
    t.same(await database.read(sql('rows', rows), []), [{ n: 20, least: 2 }])
    const [after] = await database.read(readFirst, [])
    t.equal(Number(before?.n) - Number(after?.n), 20)
  })
