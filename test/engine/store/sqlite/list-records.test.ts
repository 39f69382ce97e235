/** The writer records the number of a list only while a client may repeat it. */
import t from 'tap'
import { scaled } from '../../../helpers/machine-speed.ts'
import { sql, startStore, statement } from '../../../helpers/store/store.ts'

const table = {
  number: 1,
  text: 'CREATE TABLE total (sum BIGINT NOT NULL); INSERT INTO total VALUES (0)',
}
const RECORDS = sql('records', 'SELECT count(*) AS n FROM tollgate_lists')
const SUM = sql('sum', 'SELECT sum FROM total')
const add = () => [statement('add', 'UPDATE total SET sum = sum + 1', [], { rows: 1 })]

t.test(
  'SQLite writer: forgets lists whose client has received the result, and keeps the others',
  async t => {
    const store = await startStore(t)
    const longTimeout = await store.open({ writeTimeout: 60_000 })
    const shortTimeout = await store.open({ writeTimeout: scaled(400) })
    await longTimeout.migrate('test', [table])
    const unknownList = add()
    store.writer.kill('SIGSTOP')
    await t.rejects(shortTimeout.write(unknownList), { code: 'STORE_UNKNOWN' })
    store.writer.kill('SIGCONT')
    for (const database of [longTimeout, shortTimeout]) {
      for (let round = 0; round < 10; round++) {
        await Promise.allSettled(Array.from({ length: 100 }, () => database.write(add())))
      }
    }
    const [{ n } = {}] = await longTimeout.read(RECORDS, [])
    t.ok(Number(n) < 500, `${n} of 2,001 numbers are recorded`)
    const before = await longTimeout.read(SUM, [])
    await shortTimeout.write(unknownList)
    t.same(await longTimeout.read(SUM, []), before, 'the list without a result is still recorded')
  },
)

t.test('SQLite writer: forgets the lists of a client that disconnects', async t => {
  const store = await startStore(t)
  const other = await store.open()
  const leaving = await store.open()
  await leaving.migrate('test', [table])
  await leaving.write(add())
  t.same(await other.read(RECORDS, []), [{ n: 1 }])
  await leaving.close()
  // Ordered after the writer has processed the disconnect.
  while ((await other.read(RECORDS, []))[0]?.n !== 0) await new Promise(setImmediate)
  t.pass('its number is forgotten')
})
