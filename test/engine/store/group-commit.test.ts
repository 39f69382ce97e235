/** Group commit: gathered lists share one transaction, and a list that fails does not affect the
 *  others. */
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import t from 'tap'
import { createGroupCommit, type List } from '../../../engine/store/sqlite/group-commit.ts'
import { prepareStore } from '../../../engine/store/sqlite/migrate.ts'
import { openForWriting, type Sqlite } from '../../../engine/store/sqlite/sqlite.ts'
import { sql, startBoth, statement, temporaryFolder } from '../../helpers/store/store.ts'

const INSERT = 'INSERT INTO item (id, name) VALUES (?, ?)'
const ALL = sql('item.all', 'SELECT id, name FROM item ORDER BY id')
const insert = (id: number, name = 'x') => statement('item.insert', INSERT, [id, name], { rows: 1 })
const table = { number: 1, text: 'CREATE TABLE item (id BIGINT PRIMARY KEY, name TEXT NOT NULL)' }

const both = await startBoth(t, [table])

const openItems = (folder: string): { store: Sqlite; commands: string[] } => {
  const store = openForWriting(join(folder, 'items.db'))
  prepareStore(store)
  store.connection.exec(table.text)
  const commands: string[] = []
  const { connection } = store
  const exec = connection.exec.bind(connection)
  connection.exec = text => {
    commands.push(text)
    exec(text)
  }
  const prepare = connection.prepare.bind(connection)
  connection.prepare = text => {
    const preparedStatement = prepare(text)
    const run = preparedStatement.run.bind(preparedStatement)
    preparedStatement.run = (...values: unknown[]) => {
      if (/^(?:BEGIN|COMMIT)/.test(text)) commands.push(text)
      return run(...(values as SQLInputValue[]))
    }
    return preparedStatement
  }
  return { store, commands }
}
const list = (number: number, ...ids: number[]): List => ({
  client: 'c',
  number,
  isRepeat: false,
  steps: ids.map(id => ({ text: INSERT, rows: 1, values: [id, 'x'] })),
})

t.test('SQLite group commit: forty lists share one BEGIN and one COMMIT', async t => {
  const { store, commands } = openItems(temporaryFolder(t))
  const outcomes = createGroupCommit(store)(
    Array.from({ length: 40 }, (_, index) => list(index, index)),
  )
  t.equal(outcomes.filter(outcome => 'rows' in outcome).length, 40)
  t.same(commands, ['BEGIN IMMEDIATE', 'COMMIT'])
  store.close()
})

t.test(
  'SQLite group commit: one failing list of forty is refused alone, with one COMMIT',
  async t => {
    const { store, commands } = openItems(temporaryFolder(t))
    const lists = Array.from({ length: 40 }, (_, index) => list(index, index))
    lists[20] = list(20, 100, 101, 3)
    const outcomes = createGroupCommit(store)(lists)
    t.same(
      outcomes.map((outcome, index) => ('rows' in outcome ? undefined : index)).filter(Boolean),
      [20],
    )
    t.match(outcomes[20], { refusal: { kind: 'violation', at: 2 } })
    t.equal(store.run(ALL.text, []).rows.length, 39, 'its first two statements were rolled back')
    t.equal(commands.filter(text => text === 'COMMIT').length, 1)
    store.close()
  },
)

t.test(
  'SQLite group commit: a repeated list returns its first result and is applied once',
  async t => {
    const { store } = openItems(temporaryFolder(t))
    const commit = createGroupCommit(store)
    const steps = [{ text: `${INSERT} RETURNING id, name`, rows: 1, values: [2n ** 60n, 'big'] }]
    const first = commit([{ client: 'c', number: 7, isRepeat: false, steps }])
    const second = commit([{ client: 'c', number: 7, isRepeat: true, steps }])
    t.same(first, [{ rows: [[{ id: 2n ** 60n, name: 'big' }]] }])
    t.same(second, first)
    t.match(commit([{ client: 'other', number: 7, isRepeat: true, steps }]), [
      { refusal: { kind: 'violation' } },
    ])
    store.close()
  },
)

t.test(
  'SQLite group commit: a list that begins with a `once` statement is not recorded',
  async t => {
    const { store } = openItems(temporaryFolder(t))
    const commit = createGroupCommit(store)
    const once = { ...list(1, 1, 2), once: true }
    const countRecords = () => store.run('SELECT count(*) AS n FROM tollgate_lists', []).rows[0]?.n
    t.match(commit([once]), [{ rows: [[], []] }])
    t.equal(countRecords(), 0)
    const again = { ...once, isRepeat: true }
    t.match(
      commit([again, list(2, 3)]),
      [{ rows: [[], []] }, { rows: [[]] }],
      'the list was applied before',
    )
    t.match(
      commit([once]),
      [{ refusal: { kind: 'violation', unique: true } }],
      'not marked as a repetition',
    )
    const other = { ...list(3, 4, 2), once: true, isRepeat: true }
    t.match(
      commit([other]),
      [{ refusal: { kind: 'violation', at: 1 } }],
      'a later statement violates its key',
    )
    const nameless = { text: INSERT, rows: 1, values: [9, null] }
    const invalid = { client: 'c', number: 4, isRepeat: true, once: true, steps: [nameless] }
    t.match(commit([invalid]), [{ refusal: { kind: 'violation', at: 0 } }], 'not the unique key')
    t.same(
      store.run(ALL.text, []).rows.map(({ id }) => id),
      [1, 2, 3],
    )
    store.close()
  },
)

t.test(
  'SQLite group commit: a full disk refuses the whole group without partial writes',
  async t => {
    const { store } = openItems(temporaryFolder(t))
    const { page_count: pages } = store.connection.prepare('PRAGMA page_count').get() ?? {}
    store.connection.exec(`PRAGMA max_page_count = ${pages}`)
    const wide = { text: INSERT, rows: 1, values: [2, 'x'.repeat(100_000)] }
    const commit = createGroupCommit(store)
    const outcomes = commit([
      list(1, 1),
      { client: 'c', number: 2, isRepeat: false, steps: [wide] },
    ])
    t.match(outcomes, [{ refusal: { kind: 'unavailable' } }, { refusal: { kind: 'unavailable' } }])
    t.same(store.run(ALL.text, []).rows, [])
    store.connection.exec('PRAGMA max_page_count = 100000')
    t.match(commit([list(1, 1)]), [{ rows: [[]] }], 'the next group succeeds')
    store.close()
  },
)

for (const { engine, database } of both) {
  t.test(`${engine} group commit: each list is applied as a whole or not at all`, async t => {
    const results = await Promise.allSettled([
      database.write([insert(1), insert(2)]),
      database.write([insert(3), insert(1)]),
      database.write([insert(4)]),
      database.write([insert(2)]),
      database.write([insert(5), insert(6)]),
    ])
    t.same(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    )
    const rows = await database.read(ALL, [])
    t.same(
      rows.map(({ id }) => id),
      [1, 2, 4, 5, 6],
    )
    t.same(await database.write([]), [], 'an empty list resolves')
  })

  t.test(
    `${engine} group commit: lists of one process are applied in the order of their writes`,
    async t => {
      await database.write([insert(100, 'start')])
      const append = (letter: string) =>
        statement('item.append', 'UPDATE item SET name = name || ? WHERE id = 100', [letter], {
          rows: 1,
        })
      await Promise.all(
        [...'abcdefghijklmnopqrstuvwxyz'].map(letter => database.write([append(letter)])),
      )
      const rows = await database.read(ALL, [])
      t.equal(rows.at(-1)?.name, 'startabcdefghijklmnopqrstuvwxyz')
    },
  )
}
