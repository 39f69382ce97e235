/** Migrations: numbered per owner, forward only, and safe when two processes arrive at once. */
import t from 'tap'
import { sql, startClient, startStore } from '../helpers/store.ts'

const one = { number: 1, text: 'CREATE TABLE item (id BIGINT PRIMARY KEY, at BIGINT)' }
const two = { number: 2, text: 'INSERT INTO item VALUES (1, 2); INSERT INTO item VALUES (2, 3)' }
const three = { number: 3, text: 'UPDATE item SET at = at * 10' }
const ITEMS = sql('items', 'SELECT id, at FROM item ORDER BY id')

t.test('new ones run, old ones do not run again', async t => {
  const store = await startStore(t)
  const database = await store.open()
  await database.migrate('shop', [one, two])
  await database.migrate('shop', [{ ...one, text: one.text.replace(' (', '\n   (') }, two, three])
  t.same(await database.read(ITEMS, []), [
    { id: 1, at: 20 },
    { id: 2, at: 30 },
  ])
  await database.migrate('shop', [one])
  t.pass('a database that is ahead of the program is left alone')
  await database.migrate('other', [
    { number: 1, text: 'CREATE TABLE another (id BIGINT PRIMARY KEY)' },
  ])
  await t.rejects(database.migrate('shop', [one, { ...two, text: 'SELECT 1' }]), {
    code: 'STORE_MIGRATION',
    message:
      'Migration 2 of "shop" failed: it was changed after it had been applied; add a new number',
  })
})

t.test('numbers count from one', async t => {
  const store = await startStore(t)
  const database = await store.open()
  for (const wrong of [[two], [one, three], [one, one], [one, { ...two, number: 1.5 }]]) {
    await t.rejects(database.migrate('shop', wrong), { message: /number [12] was expected here/ })
  }
  await database.migrate('shop', [])
  await database.migrate('shop', [one, two])
  t.equal((await database.read(ITEMS, [])).length, 2)
})

t.test('one that fails leaves nothing behind and those before it in place', async t => {
  const store = await startStore(t)
  const database = await store.open()
  const broken = { number: 3, text: 'DELETE FROM item; INSERT INTO nowhere VALUES (1)' }
  await t.rejects(database.migrate('shop', [one, two, broken]), {
    code: 'STORE_MIGRATION',
    message: 'Migration 3 of "shop" failed: no such table: nowhere',
  })
  t.equal((await database.read(ITEMS, [])).length, 2)
  await t.rejects(
    database.migrate('shop', [one, two, { number: 3, text: 'DELETE FROM item; COMMIT; SELECT 1' }]),
    { message: /must not end its transaction/ },
  )
  await database.migrate('shop', [one, two, three])
  t.pass('and the mended one runs')
})

t.test('two processes at once: each migration runs once', async t => {
  const store = await startStore(t)
  const options = { url: 'sqlite:', data: store.data }
  const clients = await Promise.all([startClient(t, options), startClient(t, options)])
  const steps = [one, two, three]
  const more = Array.from({ length: 20 }, (_, index) => ({
    number: index + 4,
    text: 'UPDATE item SET at = at + 1',
  }))
  await Promise.all(clients.map(client => client.call('migrate', 'shop', [...steps, ...more])))
  t.same(await clients[0].call('read', ITEMS, []), [
    { id: 1, at: 40 },
    { id: 2, at: 50 },
  ])
})
