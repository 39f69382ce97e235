/** Equal requests of several machines, on both stores: one leads, others get its answer; a leader
 *  that fails, stops, or has an answer that cannot be stored; a bounded wait; a store that is
 *  away. */
import { setImmediate, setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Database, HostBase } from '../../../engine/plugin.ts'
import { Cache } from '../../../plugins/cache/cache.ts'
import { SECTION } from '../../../plugins/cache/section.ts'
import { migrations } from '../../../plugins/cache/tables.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { startBoth } from '../../helpers/store/store.ts'

const NEVER = new AbortController().signal
const LONG = 3_600_000
/** ms until a leader is replaced whose row does not change. */
const STALE = scaled(300)
const times = (more: object = {}) => ({ renew: LONG, stale: LONG, look: 5, ...more })
const machine = (database: Pick<Database, 'read' | 'write' | 'now'>, own = {}, exact = {}) => {
  const host = { log: SILENT_LOG, database } as unknown as HostBase
  const options = { ...SECTION.read({}).exact, leader: 'store', ...exact } as const
  return new Cache(host, options, times(own))
}
const ENTRY = { request: 'r1', at: Date.now(), text: '{"a":1}' }
/** Asserts that the promise stays pending during 20 reads of the store. */
const isWaiting = async (t: Test, wait: Promise<unknown>, database: Pick<Database, 'read'>) => {
  let isDone = false
  void wait.then(() => {
    isDone = true
  })
  const sql = { name: 'test: leaders', text: 'SELECT count(*) AS count FROM cache_leaders' }
  for (let reads = 0; reads < 20; reads++) await database.read(sql, [])
  t.notOk(isDone, 'it waits')
}

for (const { engine, database } of await startBoth(t, [])) {
  t.test(`leaders on ${engine}: one of all machines is sent, and all get its answer`, async t => {
    await database.migrate('cache', migrations)
    const machines = Array.from({ length: 3 }, () => machine(database))
    const [first, ...others] = machines
    if (!first) return
    const lead = await first.find('k', 0, NEVER)
    t.ok(lead.flight)
    const waiting = others.flatMap(each => [each.find('k', 0, NEVER), each.find('k', 0, NEVER)])
    for (const each of waiting) await isWaiting(t, each, database)
    first.add({ ...ENTRY, id: 'k', account: 1, model: 'm' })
    lead.flight?.end(ENTRY)
    for (const { entry, flight } of await Promise.all(waiting)) {
      t.match(entry, ENTRY)
      t.notOk(flight)
    }
    const sql = { name: 'test: leaders', text: 'SELECT count(*) AS count FROM cache_leaders' }
    t.match(await database.read(sql, []), [{ count: 0 }], 'no row is left')
  })

  t.test(`leaders on ${engine}: of many at once, one leads`, async t => {
    const all = Array.from({ length: 8 }, () => machine(database))
    const lookups = all.map(each => each.find('many', 0, NEVER))
    const { flight } = await Promise.race(lookups)
    t.ok(flight)
    for (const each of all) each.add({ ...ENTRY, id: 'many', account: 1, model: 'm' })
    flight?.end(ENTRY)
    const ends = await Promise.all(lookups)
    t.equal(ends.filter(each => each.flight).length, 1)
  })

  t.test(`leaders on ${engine}: a leader that fails or stops is replaced`, async t => {
    const [one, two] = [machine(database), machine(database)]
    const lead = await one.find('fails', 0, NEVER)
    const next = two.find('fails', 0, NEVER)
    await isWaiting(t, next, database)
    lead.flight?.end('failed')
    t.ok((await next).flight, 'the other leads')
    const stopped = await one.find('stops', 0, NEVER)
    t.ok(stopped.flight)
    const follower = machine(database, { stale: STALE })
    t.ok((await follower.find('stops', 0, NEVER)).flight, 'its row did not change')
    const renewing = await machine(database, { renew: 5 }).find('renews', 0, NEVER)
    const other = follower.find('renews', 0, NEVER)
    await setTimeout(2 * STALE)
    await isWaiting(t, other, database)
    renewing.flight?.end('failed')
    await other
  })

  t.test(`leaders on ${engine}: no request waits for an answer that cannot be stored`, async t => {
    const [one, two] = [machine(database), machine(database)]
    const lead = await one.find('large', 0, NEVER)
    const other = two.find('large', 0, NEVER)
    await isWaiting(t, other, database)
    lead.flight?.end('unstorable')
    t.same(await other, {}, 'it is sent alone')
  })

  t.test(`leaders on ${engine}: the wait is bounded, and ends with the client`, async t => {
    const one = machine(database)
    const two = machine(database, {}, { wait: 50 })
    await one.find('slow', 0, NEVER)
    t.ok((await two.find('slow', 0, NEVER)).flight, 'it is sent, too')
    const client = new AbortController()
    const three = machine(database)
    const aborted = three.find('slow', 0, client.signal)
    await isWaiting(
      t,
      aborted.catch(() => {}),
      database,
    )
    client.abort(new Error('the client left'))
    await t.rejects(aborted, { message: 'the client left' })
  })
}

t.test('leaders: while the store is away each process leads for itself', async t => {
  const away = async () => {
    throw new Error('away')
  }
  const cache = machine({ read: away, write: away, now: async () => 0 })
  const { flight } = await cache.find('k', 0, NEVER)
  t.ok(flight)
  const other = cache.find('k', 0, NEVER)
  await setImmediate()
  flight?.end(ENTRY)
  t.match(await other, { entry: ENTRY })
})
