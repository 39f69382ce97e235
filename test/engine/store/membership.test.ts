/** Membership: a process whose heartbeat stopped is reaped once and its reservations are released;
 *  a process with heartbeats is not reaped. */
import t, { type Test } from 'tap'
import type { PeerListener, Statement } from '../../../engine/plugin.ts'
import {
  createMembership,
  MEMBERSHIP_TABLES,
  registration,
} from '../../../engine/store/membership.ts'
import { readPeers, reapingList } from '../../../engine/store/reaper.ts'
import { timeoutsAt } from '../../helpers/clocks.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { reaperOn } from '../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore, startBoth, statement } from '../../helpers/store/store.ts'

/** ms between two heartbeats. A process that is silent for four of them is dead. */
const SWIFT = 40
const STEADY = 1_000
const RESERVATIONS = 'CREATE TABLE held (process TEXT NOT NULL)'
const both = await startBoth(t, [
  ...MEMBERSHIP_TABLES,
  { number: MEMBERSHIP_TABLES.length + 1, text: RESERVATIONS },
])
const release = (name: string): Statement =>
  statement('free', 'DELETE FROM held WHERE process = ?', [name])
const listener: PeerListener = { reapStatements: name => [release(name)] }

for (const { engine, store, database } of both) {
  const names = async () => (await readPeers(database)).map(({ name }) => name)
  /** A membership without process key or folder: only missing heartbeats show that it is dead. */
  const member = (t: Test, heartbeat: number, reaps = true) => {
    const { process: _, ...own } = database
    const membership = createMembership({
      database: own,
      log: SILENT_LOG,
      timeouts: timeoutsAt(heartbeat),
    })
    t.teardown(() => membership.close().catch(() => {}))
    if (reaps) membership.start()
    return membership
  }

  t.test(
    `${engine} membership: a process without heartbeats is reaped with its reservations`,
    async t => {
      await database.write([
        registration('p_dead'),
        statement('hold', "INSERT INTO held VALUES ('p_dead')"),
      ])
      const reapings: string[] = []
      for (const each of [member(t, SWIFT), member(t, SWIFT)])
        each.listen('test', {
          reapStatements: name => {
            reapings.push(name)
            return [release(name)]
          },
        })
      await eventually(async () => ((await names()).includes('p_dead') ? undefined : true))
      t.same(await database.read(sql('held', 'SELECT process FROM held'), []), [])
      t.ok(reapings.length > 0)
    },
  )

  t.test(
    `${engine} membership: a process with heartbeats is not reaped; on close it releases its reservations`,
    async t => {
      const alive = member(t, STEADY, false)
      const reaper = member(t, STEADY / 2)
      reaper.listen('test', listener)
      alive.listen('test', listener)
      const name = await alive.name()
      t.equal(await alive.name(), name)
      await database.write([statement('hold', 'INSERT INTO held VALUES (?)', [name])])
      const beat = async () =>
        Number((await readPeers(database)).find(each => each.name === name)?.beat)
      await eventually(async () => (await beat()) >= 2 || undefined)
      t.ok(alive.isCurrent(name))
      await alive.close()
      t.notOk((await names()).includes(name))
      t.same(await database.read(sql('held', 'SELECT process FROM held'), []), [])
    },
  )

  t.test(
    `${engine} membership: only the first of two concurrent reapers reaps a process`,
    async t => {
      await database.write([registration('p_once')])
      const reapOnce = () => database.write(reapingList('p_once', 0, [listener]))
      await reapOnce()
      await t.rejects(reapOnce(), { code: 'STILL_ALIVE' })
      await database.write([registration('p_once')])
      await t.rejects(database.write(reapingList('p_once', 7, [listener])), { code: 'STILL_ALIVE' })
      t.ok((await names()).includes('p_once'), 'it has sent a heartbeat since')
      await database.write(reapingList('p_once', 0, []))
    },
  )

  t.test(`${engine} membership: a process with on-crash statements is not reaped`, async t => {
    const insert = "INSERT INTO tollgate_wills (client, name, statements) VALUES (42, 'left', '[]')"
    await database.write([registration('p_will', 42n), statement('left', insert)])
    await t.rejects(database.write(reapingList('p_will', 0, [])), { code: 'STILL_ALIVE' })
    await database.write([statement('applied', 'DELETE FROM tollgate_wills WHERE client = 42')])
    await database.write(reapingList('p_will', 0, []))
    t.notOk((await names()).includes('p_will'))
  })

  t.test(
    `${engine} membership: an expelled process calls onExpelled once and registers under a new name`,
    async t => {
      const expelledMember = member(t, SWIFT, false)
      let expulsions = 0
      expelledMember.listen('test', { onExpelled: () => void expulsions++ })
      const name = await expelledMember.name()
      await database.write([statement('expel', 'DELETE FROM tollgate_processes', [])])
      await eventually(() => expulsions === 1 || undefined)
      t.notOk(expelledMember.isCurrent(name))
      expelledMember.reportExpelled(name)
      t.equal(expulsions, 1, 'called once')
      t.not(await expelledMember.name(), name)
    },
  )

  t.test(
    `${engine} membership: a process without the store is suspect, and keeps its name afterwards`,
    async t => {
      const ownDatabase = await store.open({ writeTimeout: scaled(1_000) })
      const connection = { isCut: false }
      const cuttable = {
        read: ownDatabase.read,
        write: (list: readonly Statement[]) =>
          connection.isCut
            ? Promise.reject(Object.assign(new Error('cut'), { code: 'CUT' }))
            : ownDatabase.write(list),
      }
      const timeouts = timeoutsAt(SWIFT)
      const membership = createMembership({ database: cuttable, log: SILENT_LOG, timeouts })
      t.teardown(() => membership.close())
      const calls = { expelled: 0, suspect: 0 }
      membership.listen('test', {
        onExpelled: () => void calls.expelled++,
        onSuspect: () => void calls.suspect++,
      })
      const name = await membership.name()
      connection.isCut = true
      await eventually(() => calls.suspect === 1 || undefined)
      await t.rejects(
        membership.name(),
        { code: 'CUT' },
        'a suspect process gets no name to reserve under',
      )
      connection.isCut = false
      t.equal(await membership.name(), name)
      t.equal(calls.expelled, 0)
    },
  )
}

for (const engine of ENGINES)
  t.test(
    `${engine} membership: on-crash statements of an older version apply before their process is reaped`,
    async t => {
      const store = await startAnyStore(t, engine)
      const database = await store.open()
      await database.migrate('standing', MEMBERSHIP_TABLES.slice(0, 2))
      await database.migrate('test', [
        { number: 1, text: 'CREATE TABLE charged (id TEXT PRIMARY KEY, state TEXT NOT NULL)' },
      ])
      // An older embedded store had text keys, which the rows of its processes did not contain.
      const key = engine === 'sqlite' ? 'q83EfwkRZ_4aBc' : '42'
      const charge = "UPDATE charged SET state = 'charged' WHERE state = 'open'"
      await database.write([
        statement('hold', "INSERT INTO charged VALUES ('a', 'open')"),
        statement('old process', "INSERT INTO tollgate_processes (id, beat) VALUES ('p_old', 7)"),
        statement(
          'old statements',
          'INSERT INTO tollgate_wills (client, name, statements) VALUES (?, ?, ?)',
          [key, 'exchange', JSON.stringify([[charge, 1]])],
        ),
      ])
      await database.migrate('standing', MEMBERSHIP_TABLES)
      const release = "UPDATE charged SET state = 'released' WHERE state = 'open'"
      const reaper = reaperOn(t, database, SWIFT)
      reaper.listen('test', { reapStatements: () => [statement('release', release)] })
      await eventually(async () => {
        const peers = await readPeers(database)
        return peers.some(({ name }) => name.startsWith('p_client_') || name === 'p_old')
          ? undefined
          : true
      })
      const rows = await database.read(sql('charged', 'SELECT state FROM charged'), [])
      t.same(rows, [{ state: 'charged' }])
    },
  )
