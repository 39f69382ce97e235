/** PostgreSQL outages under load (restart, freeze, cut connections): each write is applied once, a
 *  call fails within its timeout, and the client recovers. */
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Database } from '../../../../engine/plugin.ts'
import { scaled } from '../../../helpers/machine-speed.ts'
import { growthDuring } from '../../../helpers/process-tree.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'
import { faultyPostgres, type PostgresServer } from '../../../helpers/store/postgres.ts'
import { openAt } from '../../../helpers/store/store.ts'
import { add, COUNT, tally } from '../tally.ts'

const UNAVAILABLE = { code: 'STORE_UNAVAILABLE', status: 503, headers: { 'retry-after': '1' } }

const server = await faultyPostgres()
const begin = async (t: Test, patience: number) => {
  const url = await server.create()
  const database = await openAt(t, { url, writeTimeout: patience }).open()
  await database.migrate('test', [tally])
  return { url, database }
}
interface Load {
  readonly url: string
  /** Number of lists with a result. */
  confirmedLists: number
  /** Codes of failed attempts, and the ms of the longest one. */
  readonly codes: Set<string>
  longest: number
}
/** Writes continuously during `harm`; every list is repeated until it has a result. */
const underLoad = async (
  t: Test,
  patience: number,
  harm: (load: Load) => Promise<void>,
  { writers, warm } = { writers: 20, warm: 40 },
) => {
  const { url, database } = await begin(t, patience)
  const load: Load = { url, confirmedLists: 0, codes: new Set(), longest: 0 }
  let isOver = false
  const write = async (list: ReturnType<typeof add>): Promise<void> => {
    const startTime = performance.now()
    const code = await codeOf(database.write(list))
    if (code === 'done') return
    load.codes.add(code)
    load.longest = Math.max(load.longest, performance.now() - startTime)
    throw new Error(code)
  }
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let index = 0; !isOver; index++) {
      const list = add(`${writer}-${index}`)
      await retry(() => write(list))
      load.confirmedLists++
    }
  })
  await untilConfirmed(load, warm)
  await harm(load)
  await untilConfirmed(load, 40)
  isOver = true
  await Promise.all(writing)
  const all = [{ n: load.confirmedLists, sum: load.confirmedLists }]
  t.same(await retry(() => database.read(COUNT, [])), all)
}
const untilConfirmed = async (load: Load, lists: number): Promise<void> => {
  for (const goal = load.confirmedLists + lists; load.confirmedLists < goal; ) await later(5)
}

t.test('PostgreSQL outage: a restart under load loses and repeats no write', async t => {
  await underLoad(t, 10_000, async () => {
    for (let round = 0; round < 2; round++) {
      await server.stop()
      await server.start()
      await later(100)
    }
  })
})

t.test('PostgreSQL outage: repeatedly terminated connections lose and repeat no write', async t => {
  await underLoad(t, 10_000, async ({ url }) => {
    const name = new URL(url).pathname.slice(1)
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`
    for (let round = 0; round < 5; round++) {
      await server.ask(end)
      await later(60)
    }
  })
})

/** ms until a write fails: well above one write of a busy machine, else none ever succeeds. */
const WRITE_TIMEOUT = scaled(1_000)
/** ms for which the server is frozen. */
const FROZEN = scaled(shortOrLong(3_000, 30_000))
/** Limits, exact in the long form only: ms beyond the write timeout until a call has failed, ms
 *  until the store serves again, bytes by which the process grows meanwhile. */
const [MAX_DELAY, MAX_RECOVERY, MAX_GROWTH] = shortOrLong(
  [scaled(10_000), scaled(30_000), 2 ** 28],
  [1_000, 3_000, 2 ** 25],
)
const LOAD = shortOrLong({ writers: 20, warm: 40 }, { writers: 200, warm: 50_000 })

t.test(
  'PostgreSQL outage: a freeze beyond the write timeout loses and repeats no write',
  async t => {
    const harm = async (load: Load): Promise<void> => {
      server.signal('SIGSTOP')
      const growth = await growthDuring(process.pid, () => later(FROZEN))
      t.same(
        [...load.codes].filter(code => !/^STORE_(?:UNAVAILABLE|UNKNOWN)$/.test(code)),
        [],
      )
      t.ok(load.codes.size > 0, 'some writes timed out')
      t.ok(
        load.longest < WRITE_TIMEOUT + MAX_DELAY,
        `the longest took ${Math.round(load.longest)} ms`,
      )
      t.ok(growth <= MAX_GROWTH, `grew by ${Math.round(growth / 2 ** 20)} MiB`)
      server.signal('SIGCONT')
      const resumeTime = performance.now()
      await untilConfirmed(load, LOAD.writers)
      const recovery = performance.now() - resumeTime
      t.ok(recovery <= MAX_RECOVERY, `served again after ${Math.round(recovery)} ms`)
    }
    await underLoad(t, WRITE_TIMEOUT, harm, LOAD)
  },
)

t.test(
  'PostgreSQL outage: calls fail within their timeout while the server is frozen, and recover',
  async t => {
    const { database } = await begin(t, scaled(300))
    await database.read(COUNT, [])
    server.signal('SIGSTOP')
    const waiting = add('waiting')
    t.match(await codeOf(database.write(waiting)), /^STORE_(?:UNAVAILABLE|UNKNOWN)$/)
    await t.rejects(database.read(COUNT, []), UNAVAILABLE)
    await t.rejects(database.now(), UNAVAILABLE)
    while ((await codeOf(database.write(add('refused')))) !== UNAVAILABLE.code) await later(10)
    await later(scaled(400))
    const turn = new Promise(resolve => setImmediate(resolve, 'a turn of the loop'))
    const write = codeOf(database.write(add('at once')))
    t.equal(await Promise.race([turn, write]), 'STORE_UNAVAILABLE', 'refused at once')
    server.signal('SIGCONT')
    await retry(() => database.write(waiting))
    t.same(await retry(() => database.read(COUNT, [])), [{ n: 1, sum: 1 }])
  },
)

t.test(
  'PostgreSQL outage: reads, writes and migrations are refused while the server is stopped',
  async t => {
    const { database } = await begin(t, scaled(1_000))
    await server.stop()
    await t.rejects(database.migrate('late', [tally]), UNAVAILABLE)
    await t.rejects(database.read(COUNT, []), UNAVAILABLE)
    await t.rejects(database.write(add('stopped')), UNAVAILABLE)
    await server.start()
    await retry(() => database.write(add('started')))
    t.same(await database.read(COUNT, []), [{ n: 1, sum: 1 }])
  },
)

t.test('PostgreSQL outage: the number of pending lists and reads is bounded', async t => {
  const { database } = await begin(t, scaled(500))
  server.signal('SIGSTOP')
  const writes = Array.from({ length: 10_001 }, () => codeOf(database.write(add('same'))))
  const reads = Array.from({ length: 10_010 }, () => codeOf(database.read(COUNT, [])))
  const codes = await Promise.all([...writes, ...reads])
  server.signal('SIGCONT')
  t.same([...new Set(codes)], ['STORE_UNAVAILABLE'])
  t.same(await retry(() => database.read(COUNT, [])), [{ n: 0, sum: 0 }])
})

t.test('PostgreSQL outage: writes to a read-only server reject with STORE_READ_ONLY', async t => {
  const { database } = await begin(t, scaled(300))
  await readOnly(server, 'on')
  const { error, confirmed } = await writeUntil(database, 'STORE_READ_ONLY')
  t.match(error, { message: /^Database read-only/ })
  await readOnly(server, 'off')
  await retry(() => database.write(add('back')))
  const all = confirmed + 1
  t.same(await database.read(COUNT, []), [{ n: all, sum: all }])
})
const readOnly = async (server: PostgresServer, value: string): Promise<void> => {
  await server.ask(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
  await server.ask('SELECT pg_reload_conf()')
}
/** Writes until one is refused with this code. `confirmed`: the number of those before it: server
 *  processes read their settings a moment later. */
const writeUntil = async (database: Pick<Database, 'write'>, code: string) => {
  for (let [index, confirmed] = [0, 0]; ; index++) {
    try {
      await database.write(add(`refused-${index}`))
      confirmed++
    } catch (error) {
      if ((error as { code: string }).code === code) return { error, confirmed }
    }
    await later(10)
  }
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
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
