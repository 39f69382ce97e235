/** Expectations of statements, and the faults that callers receive when they are not met. */
import t, { type Test } from 'tap'
import type { Statement } from '../../../engine/plugin.ts'
import { sql, startBoth, statement } from '../../helpers/store.ts'

const tables = {
  number: 1,
  text: `
    CREATE TABLE account (
      id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, balance BIGINT NOT NULL,
      CONSTRAINT account_floor CHECK (balance >= 0));
    CREATE TABLE entry (
      account BIGINT NOT NULL REFERENCES account (id), request TEXT NOT NULL, kind TEXT NOT NULL,
      UNIQUE (request, kind));
    CREATE UNIQUE INDEX account_twin ON account (length(name)) WHERE balance > 1000;
    INSERT INTO account VALUES (1, 'ann', 10), (2, 'bob', 10)`,
}
const BALANCE = sql('balance', 'SELECT balance FROM account WHERE id = ?')
const charge = (amount: number, more: Partial<Statement> = {}) =>
  statement(
    'charge',
    'UPDATE account SET balance = balance - ? WHERE id = 1 AND balance >= ?',
    [amount, amount],
    more,
  )
for (const { engine, database } of await startBoth(t, [tables])) {
  const assertRefused = async (t: Test, code: string, more: object, ...list: Statement[]) => {
    await t.rejects(database.write([charge(1), ...list]), { code, ...more })
    t.same(
      await database.read(BALANCE, [1]),
      [{ balance: 10 }],
      'the charge before it was rolled back',
    )
  }

  t.test(`${engine} expectations: an unexpected number of rows rolls back the list`, async t => {
    const expectation = { rows: 1, otherwise: 'INSUFFICIENT' }
    await assertRefused(t, 'INSUFFICIENT', { status: 409 }, charge(11, expectation))
    await assertRefused(
      t,
      'STORE_EXPECTATION',
      { status: 500, expose: false },
      charge(11, { rows: 1 }),
    )
    await assertRefused(
      t,
      'SOME',
      {},
      statement('none', 'DELETE FROM entry', [], { rows: 'some', otherwise: 'SOME' }),
    )
    await assertRefused(
      t,
      'EMPTY',
      {},
      statement('all', 'SELECT * FROM account', [], { rows: 0, otherwise: 'EMPTY' }),
    )
    const touch = (rows: number | 'some') =>
      statement('touch', 'UPDATE account SET name = name RETURNING id', [], { rows })
    const both = await database.write([touch(2), touch('some')])
    for (const rows of both) t.same(new Set(rows.map(({ id }) => id)), new Set([1, 2]))
    await assertRefused(
      t,
      'STORE_EXPECTATION',
      { message: /"touch" affected 2 rows, but 1 / },
      touch(1),
    )
  })

  t.test(
    `${engine} expectations: a declared violation rejects with its code, any other with STORE_VIOLATION`,
    async t => {
      const account = (id: number, name: string, balance: number, violates = {}) =>
        statement('account', 'INSERT INTO account VALUES (?, ?, ?)', [id, name, balance], {
          violates,
        })
      const twin = (id: number) => account(id, `twin${id}`, 2_000, { account_twin: 'TWIN' })
      await assertRefused(t, 'TAKEN', {}, account(3, 'ann', 1, { name: 'TAKEN' }))
      await assertRefused(t, 'TAKEN', {}, account(3, 'ann', 1, { 'account.name': 'TAKEN' }))
      await assertRefused(t, 'TWIN', {}, twin(3), twin(4))
      await assertRefused(t, 'FLOOR', {}, account(3, 'cid', -1, { account_floor: 'FLOOR' }))
      await assertRefused(t, 'SAME_ID', {}, account(1, 'cid', 1, { id: 'SAME_ID' }))
      await assertRefused(
        t,
        'STORE_VIOLATION',
        { status: 500 },
        account(1, 'cid', 1, { name: 'TAKEN' }),
      )
      const entry = (owner: number, violates = {}) =>
        statement('entry', 'INSERT INTO entry VALUES (?, ?, ?)', [owner, 'r1', 'settle'], {
          violates,
        })
      await assertRefused(t, 'TWICE', {}, entry(1), entry(1, { request: 'TWICE' }))
      await assertRefused(t, 'NOBODY', {}, entry(77, { 'FOREIGN KEY': 'NOBODY' }))
      await assertRefused(
        t,
        'NAMELESS',
        {},
        statement('null', 'INSERT INTO account VALUES (3, NULL, 1)', [], {
          violates: { name: 'NAMELESS' },
        }),
      )
    },
  )

  t.test(`${engine} lists: statements that are not allowed are refused`, async t => {
    const texts = {
      COMMIT: /only SELECT/,
      'PRAGMA synchronous = OFF': /only SELECT/,
      "ATTACH 'x.db' AS x": /only SELECT/,
      'DROP TABLE account': /only SELECT/,
      "INSERT OR ROLLBACK INTO account VALUES (1, 'a', 1)": /OR ROLLBACK/,
      'DELETE FROM entry; DELETE FROM account': /more than one/,
      'SELEC 1': /only SELECT/,
      'SELECT missing FROM account': /no such column|column "missing" does not exist/,
      'SELECT ? + 1': /1 parameters, but 0 values/,
      '': /only SELECT/,
    }
    for (const [text, message] of Object.entries(texts)) {
      await assertRefused(t, 'STORE_STATEMENT', { message }, statement(text, text))
    }
    await assertRefused(t, 'STORE_STATEMENT', { message: /too large|out of range/ }, charge(1), {
      ...charge(1),
      values: [2n ** 63n, 1],
    })
  })

  t.test(`${engine} lists: values are never interpreted as SQL`, async t => {
    const evil = `'); DROP TABLE account; --`
    await database.write([
      statement('rename', 'UPDATE account SET name = ? WHERE id = 2', [evil], { rows: 1 }),
    ])
    t.same(await database.read(sql('name', 'SELECT id FROM account WHERE name = ?'), [evil]), [
      { id: 2 },
    ])
  })

  t.test(`${engine} lists: a statement name can get a new text, as after a reload`, async t => {
    const both = await database.write([
      statement('version', 'SELECT 1 AS version'),
      statement('version', 'SELECT 2 AS version'),
      statement('version', 'SELECT 1 AS version'),
    ])
    t.same(
      both.map(rows => rows[0]?.version),
      [1, 2, 1],
    )
  })
}
