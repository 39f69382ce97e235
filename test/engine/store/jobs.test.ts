/** One process of the installation does a job; another takes over when it dies, hangs or leaves. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import type { Log } from '../../../engine/plugin.ts'
import type { DatabaseOptions } from '../../../engine/store/database.ts'
import { createJobs } from '../../../engine/store/jobs.ts'
import { LEASE_TABLE, Lease } from '../../../engine/store/lease.ts'
import { forkSwiftly } from '../../helpers/operator.ts'
import { ENGINES, type Engine, sql, startAnyStore, startStore } from '../../helpers/store.ts'

const quiet = () => {}
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const LEASE = 400

const worker = async (t: Test, options: DatabaseOptions): Promise<ChildProcess> => {
  const program = new URL('../../helpers/job-process.ts', import.meta.url)
  const child = forkSwiftly(program, [JSON.stringify(options), String(LEASE)])
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

/** The first has the job and the second waits for it. */
const stand = async (t: Test, engine: Engine) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
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
        const look = sql('holder', 'SELECT holder FROM tollgate_leases WHERE name = ?')
        return (await database.read(look, ['sweep']))[0]?.holder
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
      t.same(
        turns,
        [first.pid, second.pid, third.pid],
        'each worked in one piece, none beside another',
      )
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

t.test(
  'a lease passes on when its holder stood still for all of it, whatever clocks say',
  async t => {
    const store = await startStore(t)
    const database = await store.open()
    await database.migrate('jobs', LEASE_TABLE)
    const clocks = { holder: 0, rival: 40 * 86_400_000 }
    const lease = (holder: keyof typeof clocks) =>
      new Lease({
        ...{ database, name: 'audit', holder, ms: 1_000 },
        ...{ now: () => clocks[holder], lost: () => void lost.push(holder) },
      })
    const lost: string[] = []
    const holder = lease('holder')
    const rival = lease('rival')
    await holder.keep()
    t.equal(holder.held, true)
    for (let beat = 0; beat < 3; beat++) {
      await rival.keep()
      clocks.rival += 999
      await rival.keep()
      t.equal(rival.held, false, 'not a moment too soon')
      await holder.keep()
      clocks.rival += 999
    }
    await rival.keep()
    clocks.holder += 700
    t.equal(holder.held, false, 'the holder lets go before')
    clocks.rival += 1_000
    await rival.keep()
    t.equal(rival.held, true)
    await holder.keep()
    t.equal(holder.held, false)
    t.ok(lost.includes('holder'), 'and is told')
    await rival.leave()
    await holder.keep()
    t.equal(holder.held, true, 'a lease handed back is free at once')
  },
)

t.test('a reload keeps the lease in the process and runs the new code next', async t => {
  const store = await startStore(t)
  const database = await store.open()
  const jobs = createJobs({ database, log, lease: LEASE })
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
  const stopOld = jobs.start('sweep', 1, turn('old', begun.resolve))
  await begun.promise
  const stopNew = jobs.start('sweep', 1_000_000, turn('new', swapped.resolve))
  stopOld()
  await swapped.promise
  stopNew()
  await jobs.close()
  t.same(order, ['old', 'new'])
  const left = await database.read(sql('left', 'SELECT name FROM tollgate_leases'), [])
  t.same(left, [], 'a lease handed back is free at once')
})

t.test('a run that fails is logged and comes again', async t => {
  const store = await startStore(t)
  const database = await store.open()
  const lines: string[] = []
  const jobs = createJobs({
    ...{ database, lease: LEASE },
    log: { ...log, error: (_, text) => void lines.push(text ?? '') },
  })
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

t.test('the store gone: the work stops before the lease could pass on', async t => {
  const store = await startStore(t)
  const database = await store.open({ patience: 100 })
  const jobs = createJobs({ database, log, lease: LEASE })
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
