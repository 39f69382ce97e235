/** PostgreSQL contention: no deadlocks, and a locked row only delays lists that need it. */
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Statement } from '../../../../engine/plugin.ts'
import { eventually } from '../../../helpers/gateway/primary.ts'
import { scaled } from '../../../helpers/machine-speed.ts'
import { sql, startAnyStore, startClient, statement } from '../../../helpers/store/store.ts'

const ROWS = 20
const table = {
  number: 1,
  text: `CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL);
    INSERT INTO account SELECT id, 0 FROM generate_series(1, ${ROWS}) AS id`,
}
const SUM = sql('sum', 'SELECT sum(balance) AS sum FROM account')
const add = (id: number) =>
  statement('add', 'UPDATE account SET balance = balance + 1 WHERE id = ?', [id], { rows: 1 })

const begin = async (t: Test) => {
  const store = await startAnyStore(t, 'postgres')
  const database = await store.open()
  await database.migrate('test', [table])
  return { store, database }
}

t.test(
  'PostgreSQL contention: two processes write the same rows in opposite order without deadlock',
  async t => {
    const { store, database } = await begin(t)
    const other = await store.open()
    const rounds = 30
    const load = async (by: typeof database, order: (index: number) => number) => {
      for (let round = 0; round < rounds; round++) {
        const ids = Array.from({ length: ROWS }, (_, index) => order(index))
        await Promise.all(ids.map(id => by.write([add(id)])))
      }
    }
    await Promise.all([load(database, index => index + 1), load(other, index => ROWS - index)])
    t.same(await database.read(SUM, []), [{ sum: 2 * rounds * ROWS }])
  },
)

t.test('PostgreSQL contention: declared locks prevent deadlocks on rows of a trigger', async t => {
  const { store, database } = await begin(t)
  const trigger = `CREATE TABLE paid (id BIGINT PRIMARY KEY, account BIGINT NOT NULL);
    CREATE FUNCTION pay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      UPDATE account SET balance = balance + 1 WHERE id = NEW.account; RETURN NULL; END $$;
    CREATE TRIGGER paid AFTER INSERT ON paid FOR EACH ROW EXECUTE FUNCTION pay()`
  await database.migrate('paid', [{ number: 1, text: trigger, postgres: trigger }])
  const other = await store.open()
  let last = 0
  const pay = (id: number) =>
    statement('pay', 'INSERT INTO paid VALUES (?, ?)', [++last, id], {
      locks: [{ table: 'account', column: 'id', value: id }],
    })
  const rounds = 30
  const load = async (by: typeof database, order: (index: number) => number) => {
    for (let round = 0; round < rounds; round++) {
      const ids = Array.from({ length: ROWS }, (_, index) => order(index))
      await Promise.all(ids.map(id => by.write([pay(id)])))
    }
  }
  await Promise.all([load(database, index => index + 1), load(other, index => ROWS - index)])
  t.same(await database.read(SUM, []), [{ sum: 2 * rounds * ROWS }])
})

t.test('PostgreSQL contention: lists that deadlock are retried', async t => {
  const { store, database } = await begin(t)
  const other = await store.open()
  // The ids are in brackets, so the locked rows cannot be derived from the text.
  const addWithoutLock = (id: number): Statement =>
    statement('hidden', 'UPDATE account SET balance = balance + 1 WHERE id IN (?)', [id])
  const cross = async (by: typeof database, one: number, two: number) => {
    for (let successes = 0; successes < 50; ) {
      const list = [addWithoutLock(one), addWithoutLock(two)]
      successes += await by.write(list).then(
        () => 1,
        () => 0,
      )
    }
  }
  await Promise.all([cross(database, 1, 2), cross(other, 2, 1)])
  t.same(await database.read(SUM, []), [{ sum: 200 }])
})

t.test(
  'PostgreSQL contention: a row locked by an administrator delays only lists that need it',
  async t => {
    const { store } = await begin(t)
    const database = await store.open({ writeTimeout: 2_000 })
    const holder = new pg.Client({ connectionString: store.options.url })
    await holder.connect()
    await holder.query('BEGIN; UPDATE account SET balance = 1000 WHERE id = 7')
    const ids = Array.from({ length: ROWS }, (_, index) => index + 1)
    let areWritten = false
    const codes = new Set<string>()
    // A slow machine may refuse another list as well, which is then written again.
    const write = async (id: number): Promise<void> => {
      for (const list = [add(id)]; ; ) {
        const code = await codeOf(database.write(list))
        if (code === 'done') return
        if (id !== 7) continue
        codes.add(code)
        if (areWritten) return
      }
    }
    const blocked = write(7)
    await Promise.all(ids.filter(id => id !== 7).map(write))
    areWritten = true
    await blocked
    t.match([...codes], ['STORE_UNAVAILABLE'], 'refused while the others are written')
    await holder.query('ROLLBACK')
    await holder.end()
    await database.write([add(7)])
    t.same(await database.read(SUM, []), [{ sum: ROWS }])
  },
)

t.test('PostgreSQL contention: a suspended process does not keep its rows locked', async t => {
  const { store, database } = await begin(t)
  const client = await startClient(t, { ...store.options, writeTimeout: scaled(500) })
  await client.call('write', [add(1)])
  client.process.kill('SIGSTOP')
  await database.write([add(1)])
  client.process.kill('SIGCONT')
  await client.call('write', [add(1)])
  t.same(await database.read(SUM, []), [{ sum: 3 }])
})

t.test(
  'PostgreSQL contention: of many lists exactly those covered by the balance succeed',
  async t => {
    const { database } = await begin(t)
    await database.write([statement('fill', 'UPDATE account SET balance = 10 WHERE id = 1')])
    const take = () =>
      database.write([
        statement(
          'take',
          'UPDATE account SET balance = balance - 1 WHERE id = ? AND balance >= 1',
          [1],
          {
            rows: 1,
            otherwise: 'INSUFFICIENT',
          },
        ),
      ])
    const codes = await Promise.all(Array.from({ length: 500 }, () => codeOf(take())))
    t.equal(codes.filter(code => code === 'done').length, 10)
    t.equal(codes.filter(code => code === 'INSUFFICIENT').length, 490)
  },
)

const NUMBERED = {
  number: 1,
  text: 'CREATE TABLE numbered (id BIGINT PRIMARY KEY, name TEXT UNIQUE)',
}
const addNext = (name: string, more = {}): Statement =>
  statement(
    'next',
    'INSERT INTO numbered VALUES ((SELECT coalesce(max(id), 0) + 1 FROM numbered), ?) RETURNING id',
    [name],
    { rows: 1, ...more },
  )
t.test('PostgreSQL contention: who finds the next number taken gets the one after', async t => {
  const { store, database } = await begin(t)
  await database.migrate('numbered', [NUMBERED])
  const waits = `SELECT 1 FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`
  const holders = await Promise.all(
    [1, 2, 3, 4].map(async id => {
      const holder = new pg.Client({ connectionString: store.options.url })
      await holder.connect()
      t.teardown(() => holder.end())
      await holder.query(`BEGIN; INSERT INTO numbered VALUES (${id}, 'held ${id}')`)
      return holder
    }),
  )
  const writing = database.write([addNext('own')])
  for (const holder of holders) {
    await eventually(async () => (await holder.query(waits)).rowCount || undefined)
    await holder.query('COMMIT')
  }
  t.same(await writing, [[{ id: 5 }]])

  const others = [database, await store.open(), await store.open()]
  const lists = others.flatMap((by, process) =>
    Array.from({ length: 30 }, (_, at) => by.write([addNext(`${process} ${at}`)])),
  )
  await Promise.all(lists)
  const [row] = await database.read(
    sql('numbers', 'SELECT count(*) AS n, max(id) AS last FROM numbered'),
    [],
  )
  t.same(row, { n: 95, last: 95 })

  t.equal(await codeOf(database.write([addNext('own')])), 'STORE_VIOLATION')
  const violates = { 'numbered.name': 'NAME_TAKEN' }
  t.equal(await codeOf(database.write([addNext('own', { violates })])), 'NAME_TAKEN')
})

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
