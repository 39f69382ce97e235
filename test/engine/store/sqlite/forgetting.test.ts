/** The writer keeps a list's number only while someone may come back with it. */
import t from 'tap'
import { sql, startStore, statement } from '../../../helpers/store.ts'

const table = {
  number: 1,
  text: 'CREATE TABLE total (sum BIGINT NOT NULL); INSERT INTO total VALUES (0)',
}
const KEPT = sql('kept', 'SELECT count(*) AS n FROM tollgate_lists')
const SUM = sql('sum', 'SELECT sum FROM total')
const add = () => [statement('add', 'UPDATE total SET sum = sum + 1', [], { rows: 1 })]

t.test('what was answered is forgotten, what was not is kept', async t => {
  const store = await startStore(t)
  const patient = await store.open({ patience: 10_000 })
  const hasty = await store.open({ patience: 400 })
  await patient.migrate('test', [table])
  const lost = add()
  store.writer.kill('SIGSTOP')
  await t.rejects(hasty.write(lost), { code: 'STORE_UNKNOWN' })
  store.writer.kill('SIGCONT')
  for (const database of [patient, hasty]) {
    for (let round = 0; round < 10; round++) {
      await Promise.allSettled(Array.from({ length: 100 }, () => database.write(add())))
    }
  }
  const [{ n } = {}] = await patient.read(KEPT, [])
  t.ok(Number(n) < 500, `${n} of 2,001 numbers are kept`)
  const before = await patient.read(SUM, [])
  await hasty.write(lost)
  t.same(await patient.read(SUM, []), before, 'the lost one is still known')
})

t.test('a client that leaves is forgotten at once', async t => {
  const store = await startStore(t)
  const other = await store.open()
  const leaving = await store.open()
  await leaving.migrate('test', [table])
  await leaving.write(add())
  t.same(await other.read(KEPT, []), [{ n: 1 }])
  await leaving.close()
  // In order after the writer has seen it leave.
  while ((await other.read(KEPT, []))[0]?.n !== 0) await new Promise(setImmediate)
  t.pass('its number is gone')
})
