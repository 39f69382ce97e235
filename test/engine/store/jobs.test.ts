/** Jobs: one process of the installation runs a job, and another takes over when that process
 *  crashes, hangs or leaves. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Log } from '../../../engine/plugin.ts'
import type { DatabaseOptions } from '../../../engine/store/database.ts'
import { createJobs } from '../../../engine/store/jobs.ts'
import { Leases } from '../../../engine/store/leases.ts'
import { createMembership, MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { timeoutsAt } from '../../helpers/clocks.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { forkProgram } from '../../helpers/operator.ts'
import { ENGINES, type Engine, sql, startAnyStore, startStore } from '../../helpers/store/store.ts'

const quiet = () => {}
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
/** Heartbeat interval, ms. */
const SWIFT = 100
/** Longer than a test waits for a run, ms. */
const LONG_INTERVAL = 3_600_000

/** A process with the job, and every message that it has sent. Messages are recorded from its
 *  start: two that arrive in one read are emitted before an `await` between them continues. */
interface JobProcess {
  readonly child: ChildProcess
  count(type: string): number
  /** Resolves when the process has sent so many messages of a type since its start. */
  until(type: string, count?: number): Promise<void>
  /** Whether a run has begun and not ended. */
  readonly isRunning: boolean
}
const startJobProcess = async (t: Test, options: DatabaseOptions): Promise<JobProcess> => {
  const program = new URL('./job-process.ts', import.meta.url)
  const child = forkProgram(program, [JSON.stringify(options), String(SWIFT)])
  t.teardown(() => child.kill('SIGKILL'))
  const types: string[] = []
  child.on('message', ({ what }: { what: string }) => types.push(what))
  const count = (type: string) => types.filter(each => each === type).length
  const process: JobProcess = {
    child,
    count,
    until: (type, least = 1) => poll(() => count(type) >= least),
    get isRunning() {
      return count('begin') > count('end')
    },
  }
  await process.until('up')
  return process
}
/** Polls until the condition holds; the timeout of the test is the limit. */
const poll = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await later(5)
}

/** Two processes: the first holds the lease of the job, the second waits for it. */
const startTwo = async (t: Test, engine: Engine) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  await database.migrate('standing', MEMBERSHIP_TABLES)
  await database.migrate('test', [
    {
      number: 1,
      text: 'CREATE TABLE steps (at INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER)',
    },
  ])
  const first = await startJobProcess(t, store.options)
  await first.until('begin')
  const second = await startJobProcess(t, store.options)
  return { store, database, first, second }
}

for (const engine of ENGINES) {
  t.test(
    `${engine} jobs: another process takes over from a killed one, and runs never overlap`,
    async t => {
      const { store, database, first, second } = await startTwo(t, engine)
      const holder = async () => {
        const select = sql('holder', 'SELECT process FROM tollgate_leases WHERE name = ?')
        return (await database.read(select, ['sweep']))[0]?.process
      }
      const before = await holder()
      first.child.kill('SIGKILL')
      await second.until('begin')
      t.not(await holder(), before)

      const third = await startJobProcess(t, store.options)
      second.child.send('stop')
      await third.until('begin')
      const steps = await database.read(sql('steps', 'SELECT pid FROM steps ORDER BY at'), [])
      const pids = steps.map(row => row.pid).filter((pid, at, all) => pid !== all[at - 1])
      t.same(
        pids,
        [first.child.pid, second.child.pid, third.child.pid],
        'the steps of the processes are not mixed',
      )
    },
  )

  t.test(
    `${engine} jobs: a suspended process ends its run when it continues after a takeover`,
    async t => {
      const { first, second } = await startTwo(t, engine)
      first.child.kill('SIGSTOP')
      // Under load the first process may have lost the lease, and ended its run, before the signal.
      await poll(() => second.isRunning)
      const runs = first.count('begin')
      first.child.kill('SIGCONT')
      await first.until('end', runs)
      t.pass('its signal was aborted')
    },
  )
}

/** Jobs of this process. `lines`: receives the errors that are logged. */
const createOwnJobs = async (t: Test, lines: string[] = []) => {
  const store = await startStore(t)
  const database = await store.open({ writeTimeout: scaled(100) })
  await database.migrate('standing', MEMBERSHIP_TABLES)
  const timeouts = timeoutsAt(SWIFT)
  const membership = createMembership({ database, log, timeouts })
  t.teardown(() => membership.close().catch(() => {}))
  const jobs = createJobs({
    leases: new Leases({ database, membership }),
    log: { ...log, error: (_, text) => void lines.push(text ?? '') },
    retry: 1,
  })
  return { store, database, membership, jobs }
}

t.test('jobs: a reload during a run keeps the lease, and the new code runs at once', async t => {
  const { database, jobs } = await createOwnJobs(t)
  const order: string[] = []
  let running = 0
  const createRun = (name: string, onStart: () => void) => async (signal: AbortSignal) => {
    t.equal(++running, 1, 'no other run is in progress')
    order.push(name)
    onStart()
    if (name === 'old') await once(signal, 'abort')
    running--
  }
  const oldStart = Promise.withResolvers<void>()
  const newStart = Promise.withResolvers<void>()
  const oldRun = jobs.start('sweep', LONG_INTERVAL, createRun('old', oldStart.resolve))
  await oldStart.promise
  const newRun = jobs.start('sweep', LONG_INTERVAL, createRun('new', newStart.resolve))
  oldRun.stop()
  await newStart.promise
  newRun.stop()
  await jobs.close()
  t.same(order, ['old', 'new'])
  const leases = await database.read(sql('leases', 'SELECT name FROM tollgate_leases'), [])
  t.same(leases, [], 'a released lease is free at once')
})

t.test('jobs: a failing run is logged, and repeated long before the interval ends', async t => {
  const lines: string[] = []
  const { jobs } = await createOwnJobs(t, lines)
  let runs = 0
  await new Promise<void>(resolve =>
    jobs.start('sweep', LONG_INTERVAL, async () => {
      runs++
      if (runs <= 2) throw new Error('twice')
      resolve()
    }),
  )
  await jobs.close()
  t.same(lines, ['a job failed', 'a job failed'])
})

t.test('jobs: without the store a run stops before another process can take the lease', async t => {
  const { store, jobs } = await createOwnJobs(t)
  const start = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  jobs.start('sweep', 1, async signal => {
    start.resolve()
    await once(signal, 'abort')
    end.resolve()
  })
  await start.promise
  await store.kill()
  await end.promise
  t.pass('its signal was aborted')
  await store.respawn()
  await jobs.close()
})

t.test('leases: an expelled process takes them again, and repeats the run it lost', async t => {
  const { database, membership, jobs } = await createOwnJobs(t)
  const order: string[] = []
  let start = Promise.withResolvers<void>()
  jobs.start('sweep', LONG_INTERVAL, async signal => {
    order.push('begin')
    start.resolve()
    await once(signal, 'abort')
    order.push('end')
  })
  await start.promise
  start = Promise.withResolvers<void>()
  const before = await membership.name()
  await database.write([{ sql: sql('expel', 'DELETE FROM tollgate_processes'), values: [] }])
  await start.promise
  t.not(await membership.name(), before)
  t.same(order, ['begin', 'end', 'begin'])
  await jobs.close()
})

t.test('jobs: one of each process needs no lease and runs when it is woken', async t => {
  const { store, jobs } = await createOwnJobs(t)
  await store.kill() // no lease could be taken now
  const runs: number[] = []
  let reached = Promise.withResolvers<void>()
  const job = jobs.start(
    'poll',
    LONG_INTERVAL,
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
