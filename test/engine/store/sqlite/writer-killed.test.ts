/** kill -9 of the writer under load: acknowledged writes are stored once, others are repeated once.
 *  */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as later } from 'node:timers/promises'
import t from 'tap'
import { scaled } from '../../../helpers/machine-speed.ts'
import {
  type Store,
  sql,
  startClient,
  startStore,
  statement,
} from '../../../helpers/store/store.ts'
import { add, addOnce, COUNT, tally } from '../tally.ts'

const HAS = sql('has', 'SELECT count(*) AS n FROM entry WHERE id = ?')

const killAndRespawn = async (store: Store, times: number) => {
  for (let kill = 0; kill < times; kill++) {
    await later(20 + 40 * Math.random())
    await store.kill()
    await store.respawn()
  }
}

for (const durability of ['power', 'process'] as const)
  t.test(
    `SQLite client: kill -9 of the writer under load loses and repeats no write (${durability})`,
    async t => {
      const store = await startStore(t, durability)
      const database = await store.open({ writeTimeout: 60_000 })
      await database.migrate('test', [tally])
      let isOver = false
      let writeCount = 0
      const load = Array.from({ length: 20 }, async (_, lane) => {
        for (let index = 0; !isOver; index++) {
          await database.write((lane % 2 ? add : addOnce)(`${lane}-${index}`))
          writeCount++
        }
      })
      await killAndRespawn(store, 4)
      while (writeCount <= 100) await new Promise(resolve => setTimeout(resolve, 10))
      isOver = true
      await Promise.all(load)
      t.same(await database.read(COUNT, []), [{ n: writeCount, sum: writeCount }])
      const integrity = await database.read(
        sql('integrity', 'SELECT * FROM pragma_integrity_check'),
        [],
      )
      t.same(integrity, [{ integrity_check: 'ok' }])
    },
  )

/** A client with a long write timeout, and one with a short one. */
const openBoth = async (store: Store) => {
  const longTimeout = await store.open({ writeTimeout: 60_000 })
  await longTimeout.migrate('test', [tally])
  return { longTimeout, shortTimeout: await store.open({ writeTimeout: scaled(100) }) }
}

t.test('SQLite client: a repeated list after a lost result is applied once', async t => {
  const store = await startStore(t)
  const { longTimeout, shortTimeout } = await openBoth(store)
  const list = add('frozen')
  store.writer.kill('SIGSTOP')
  await t.rejects(shortTimeout.write(list), {
    code: 'STORE_UNKNOWN',
    status: 503,
    headers: { 'retry-after': '1' },
  })
  await t.rejects(shortTimeout.write(list), { code: 'STORE_UNKNOWN' })
  store.writer.kill('SIGCONT')
  await retry(() => Promise.all([shortTimeout.write(list), shortTimeout.write(list)]))
  t.same(await longTimeout.read(COUNT, []), [{ n: 1, sum: 1 }], 'applied once')
  await retry(() => shortTimeout.write(list))
  t.same(
    await longTimeout.read(COUNT, []),
    [{ n: 1, sum: 2 }],
    'with a known result it is written again',
  )
})

t.test('SQLite client: a list that is repeated through a long outage is applied once', async t => {
  const store = await startStore(t)
  const { longTimeout, shortTimeout } = await openBoth(store)
  const list = add('long')
  store.writer.kill('SIGSTOP')
  await t.rejects(shortTimeout.write(list), { code: 'STORE_UNKNOWN' })
  store.writer.kill('SIGCONT')
  while ((await longTimeout.read(COUNT, []))[0]?.n !== 1) await later(10)
  await store.kill()
  const now = performance.now.bind(performance)
  const advance = (ms: number) => t.intercept(performance, 'now', { value: () => now() + ms })
  await later(scaled(150))
  for (let minutes = 9; minutes <= 27; minutes += 9) {
    advance(minutes * 60_000)
    await t.rejects(shortTimeout.write(list), { code: 'STORE_UNAVAILABLE' })
  }
  await store.respawn()
  // The client reports in such frames what the writer can forget.
  for (let other = 0; other < 200; other++) await retry(() => shortTimeout.write(add('other')))
  await retry(() => shortTimeout.write(list))
  t.match(await longTimeout.read(COUNT, []), [{ n: 2, sum: 201 }])
})

t.test('SQLite client: a repeated `once` list after a lost result is applied once', async t => {
  const store = await startStore(t)
  const { longTimeout, shortTimeout } = await openBoth(store)
  const list = addOnce('frozen')
  store.writer.kill('SIGSTOP')
  await t.rejects(shortTimeout.write(list), { code: 'STORE_UNKNOWN' })
  store.writer.kill('SIGCONT')
  t.same(await retry(() => shortTimeout.write(list)), [[], []])
  t.same(await longTimeout.read(COUNT, []), [{ n: 1, sum: 1 }], 'applied once, completely')
  await t.rejects(
    shortTimeout.write(list),
    { code: 'THERE' },
    'with a known result it is written again',
  )
  await t.rejects(shortTimeout.write(addOnce('frozen')), { code: 'THERE' }, "another's is refused")
  t.same(await longTimeout.read(COUNT, []), [{ n: 1, sum: 1 }])
})

t.test('SQLite client: a repeated list returns the rows of its first result', async t => {
  const store = await startStore(t)
  const { longTimeout, shortTimeout } = await openBoth(store)
  const list = [
    statement('next', 'UPDATE total SET sum = sum + ? RETURNING sum', [2n ** 60n], { rows: 1 }),
    statement('nothing', 'DELETE FROM entry'),
  ]
  store.writer.kill('SIGSTOP')
  await t.rejects(shortTimeout.write(list), { code: 'STORE_UNKNOWN' })
  store.writer.kill('SIGCONT')
  await longTimeout.write(add('meanwhile'))
  t.same(await retry(() => shortTimeout.write(list)), [[{ sum: 2n ** 60n }], []])
})

t.test(
  'SQLite client: without a writer writes are refused, and they succeed after its restart',
  async t => {
    const store = await startStore(t)
    const { shortTimeout } = await openBoth(store)
    await store.kill()
    // The exit event may come before the close of the socket; a list sent in between has an unknown
    // result.
    await new Promise(resolve => setTimeout(resolve, 100))
    const refusal = { code: 'STORE_UNAVAILABLE', status: 503, headers: { 'retry-after': '1' } }
    await t.rejects(shortTimeout.write(add('while away')), refusal)
    const turn = new Promise(resolve => setImmediate(resolve, 'a turn of the loop'))
    const write = shortTimeout.write(add('at once')).catch(error => error.code)
    t.equal(await Promise.race([turn, write]), 'STORE_UNAVAILABLE', 'refused at once')
    t.same(await shortTimeout.read(HAS, ['while away']), [{ n: 0 }], 'reads continue')
    await store.respawn()
    const list = add('back')
    await retry(() => shortTimeout.write(list))
    t.same(
      await shortTimeout.read(COUNT, []),
      [{ n: 1, sum: 1 }],
      'a refused write was not applied',
    )
  },
)

t.test('SQLite client: the number of pending lists is bounded', async t => {
  const store = await startStore(t)
  const { shortTimeout } = await openBoth(store)
  store.writer.kill('SIGSTOP')
  const writes = Array.from({ length: 10_001 }, () => shortTimeout.write(add('same')))
  const results = await Promise.allSettled(writes)
  const codes = results.map(result => (result.status === 'rejected' ? result.reason.code : 'done'))
  t.equal(codes.filter(code => code === 'STORE_UNKNOWN').length, 10_000)
  t.equal(codes.at(-1), 'STORE_UNAVAILABLE')
  store.writer.kill('SIGCONT')
})

t.test('SQLite client: two processes continue after the writer crashed', async t => {
  const store = await startStore(t)
  const options = { url: 'sqlite:', data: store.data, writeTimeout: 60_000 }
  const clients = await Promise.all([startClient(t, options), startClient(t, options)])
  await clients[0].call('migrate', 'test', [tally])
  const writes = clients.map((client, index) => client.call('write', add(`a${index}`)))
  await store.kill()
  const after = clients.map((client, index) => client.call('write', add(`b${index}`)))
  await store.respawn()
  await Promise.all([...writes, ...after])
  t.same(await clients[1].call('read', COUNT, []), [{ n: 4, sum: 4 }])
})

/** Repeats until there is a result; the timeout of the test is the limit. */
const retry = async <T>(run: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await run()
    } catch {
      await later(20)
    }
  }
}

// A log whose sync failed may be whole in memory only: what the next writer reads of it must not
// depend on it.
t.test('SQLite writer: a log that a killed one left is in the database file', async t => {
  const store = await startStore(t)
  const database = await store.open()
  await database.migrate('test', [tally])
  for (let n = 0; n < 20; n++) await database.write(add(`left-${n}`))
  await store.kill()
  await store.respawn()
  t.match(await database.read(COUNT, []), [{ n: 20 }])
  const copy = join(t.testdir({}), 'alone.db')
  copyFileSync(store.address.file, copy)
  const alone = new DatabaseSync(copy)
  t.match(alone.prepare(COUNT.text).all(), [{ n: 20 }], 'without its log')
  alone.close()
})
