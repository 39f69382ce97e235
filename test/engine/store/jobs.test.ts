/** Jobs: one process of the installation runs a job; another takes over when it crashes, hangs or
 *  leaves. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import type { Log } from '../../../engine/plugin.ts'
import type { DatabaseOptions } from '../../../engine/store/database.ts'
import { createJobs } from '../../../engine/store/jobs.ts'
import { Leases } from '../../../engine/store/leases.ts'
import { createMembership, MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { forkSwiftly } from '../../helpers/operator.ts'
import { ENGINES, type Engine, sql, startAnyStore, startStore } from '../../helpers/store.ts'
import { timeoutsAt } from '../../helpers/timeouts.ts'

const quiet = () => {}
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
/** Heartbeat interval, ms. */
const SWIFT = 100

const worker = async (t: Test, options: DatabaseOptions): Promise<ChildProcess> => {
  const program = new URL('../../helpers/job-process.ts', import.meta.url)
  const child = forkSwiftly(program, [JSON.stringify(options), String(SWIFT)])
  t.teardown(() => child.kill('SIGKILL'))
  await said(child, 'up')
  return child
}
const said = async (child: ChildProcess, wanted: string): Promise<void> => {
  for (;;) {
    const [{ what }] = (await once(child, 'message')) as [{ what: string }]
    if (what === wanted) return
  }
}

/** Two workers: the first holds the lease of the job, the second waits for it. */
const stand = async (t: Test, engine: Engine) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.migrate('test', [
    {
      number: 1,
      text: 'CREATE TABLE steps (at INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER)',
    },
  ])
  const first = await worker(t, store.options)
  await said(first, 'begin')
  const second = await worker(t, store.options)
  return { store, database, first, second, took: said(second, 'begin') }
}

for (const engine of ENGINES) {
  t.test(
    `${engine}: two processes, never both, and the second takes over from the dead first`,
    async t => {
      const { store, database, first, second, took } = await stand(t, engine)
      const holder = async () => {
        const look = sql('holder', 'SELECT process FROM tollgate_leases WHERE name = ?')
        return (await database.read(look, ['sweep']))[0]?.process
      }
      const before = await holder()
      first.kill('SIGKILL')
      await took
      t.not(await holder(), before)

      const third = await worker(t, store.options)
      const handed = said(third, 'begin')
      second.send('stop')
      await handed
      const steps = await database.read(sql('steps', 'SELECT pid FROM steps ORDER BY at'), [])
      const turns = steps.map(row => row.pid).filter((pid, at, all) => pid !== all[at - 1])
      t.same(turns, [first.pid, second.pid, third.pid], 'the runs did not overlap')
    },
  )

  t.test(
    `${engine}: a process that was stopped finds its job taken, and stops at once`,
    async t => {
      const { first, took } = await stand(t, engine)
      first.kill('SIGSTOP')
      await took
      const ended = said(first, 'end')
      first.kill('SIGCONT')
      await ended
      t.pass('its signal was aborted')
    },
  )
}

/** Jobs of a single process in this test. */
const alone = async (t: Test, lines: string[] = []) => {
  const store = await startStore(t)
  const database = await store.open({ writeTimeout: 100 })
  await database.migrate('standing', MEMBERSHIP_TABLES)
  const timeouts = timeoutsAt(SWIFT)
  const membership = createMembership({ database, log, timeouts })
  t.teardown(() => membership.close().catch(() => {}))
  const jobs = createJobs({
    leases: new Leases({ database, membership }),
    log: { ...log, error: (_, text) => void lines.push(text ?? '') },
  })
  return { store, database, membership, jobs }
}

t.test('jobs: a reload keeps the lease and the next run uses the new code', async t => {
  const { database, jobs } = await alone(t)
  const order: string[] = []
  let running = 0
  const turn = (name: string, reached: () => void) => async (signal: AbortSignal) => {
    t.equal(++running, 1, 'alone')
    order.push(name)
    reached()
    if (name === 'old') await once(signal, 'abort')
    running--
  }
  const begun = Promise.withResolvers<void>()
  const swapped = Promise.withResolvers<void>()
  const old = jobs.start('sweep', 1, turn('old', begun.resolve))
  await begun.promise
  const next = jobs.start('sweep', 1_000_000, turn('new', swapped.resolve))
  old.stop()
  await swapped.promise
  next.stop()
  await jobs.close()
  t.same(order, ['old', 'new'])
  const left = await database.read(sql('left', 'SELECT name FROM tollgate_leases'), [])
  t.same(left, [], 'a released lease is free at once')
})

t.test('jobs: a failing run is logged and repeated', async t => {
  const lines: string[] = []
  const { jobs } = await alone(t, lines)
  let runs = 0
  await new Promise<void>(resolve =>
    jobs.start('sweep', 1, async () => {
      runs++
      if (runs === 1) throw new Error('once')
      resolve()
    }),
  )
  await jobs.close()
  t.same(lines, ['a job failed'])
})

t.test('jobs: without the store a run stops before another process can take the lease', async t => {
  const { store, jobs } = await alone(t)
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  jobs.start('sweep', 1, async signal => {
    begun.resolve()
    await once(signal, 'abort')
    stopped.resolve()
  })
  await begun.promise
  await store.kill()
  await stopped.promise
  t.pass('aborted')
  await store.respawn()
  await jobs.close()
})

t.test('leases: an expelled process loses its leases and takes them again', async t => {
  const { database, membership, jobs } = await alone(t)
  const order: string[] = []
  let begun = Promise.withResolvers<void>()
  jobs.start('sweep', 1, async signal => {
    order.push('begin')
    begun.resolve()
    await once(signal, 'abort')
    order.push('end')
  })
  await begun.promise
  begun = Promise.withResolvers<void>()
  const before = await membership.name()
  await database.write([{ sql: sql('expel', 'DELETE FROM tollgate_processes'), values: [] }])
  await begun.promise
  t.not(await membership.name(), before)
  t.same(order, ['begin', 'end', 'begin'])
  await jobs.close()
})

t.test('jobs: one of each process needs no lease and runs when it is woken', async t => {
  const { store, jobs } = await alone(t)
  await store.kill() // no lease could be taken now
  const runs: number[] = []
  let reached = Promise.withResolvers<void>()
  const job = jobs.start(
    'poll',
    1_000_000,
    async () => {
      runs.push(runs.length)
      reached.resolve()
    },
    { each: true },
  )
  await reached.promise
  reached = Promise.withResolvers()
  job.wake()
  await reached.promise
  t.same(runs, [0, 1])
  job.stop()
  await store.respawn()
  await jobs.close()
})
