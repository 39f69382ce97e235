/** Who lives: a beat that stands still is buried once, with what its process held; one that moves is left alone. */
import t, { type Test } from 'tap'
import type { Mourner, Statement } from '../../../engine/plugin.ts'
import {
  ALL,
  burial,
  createStanding,
  entrance,
  STANDING_TABLE,
} from '../../../engine/store/standing.ts'
import { silent } from '../../helpers/core.ts'
import { eventually } from '../../helpers/primary.ts'
import { sql, startBoth, statement } from '../../helpers/store.ts'

/** ms. A process that stands still for ten of them is buried. */
const SWIFT = 40
const STEADY = 1_000
const HELD = 'CREATE TABLE held (process TEXT NOT NULL)'
const both = await startBoth(t, [...STANDING_TABLE, { number: 3, text: HELD }])
const freed = (name: string): Statement =>
  statement('free', 'DELETE FROM held WHERE process = ?', [name])
const mourner: Mourner = { buried: name => [freed(name)] }

for (const { engine, store, database } of both) {
  const names = async () => (await database.read(ALL, [])).map(({ id }) => String(id))
  const standing = (t: Test, every: number, looks = true, own = database) => {
    const made = createStanding({ database: own, log: silent, every, looks })
    t.teardown(() => made.close().catch(() => {}))
    return made
  }

  t.test(
    `${engine}: who falls silent is buried by one of the others, with what it held`,
    async t => {
      await database.write([
        entrance('p_dead'),
        statement('hold', "INSERT INTO held VALUES ('p_dead')"),
      ])
      const burials: string[] = []
      for (const each of [standing(t, SWIFT), standing(t, SWIFT)])
        each.watch('test', {
          buried: name => {
            burials.push(name)
            return [freed(name)]
          },
        })
      await eventually(async () => ((await names()).includes('p_dead') ? undefined : true))
      t.same(await database.read(sql('held', 'SELECT process FROM held'), []), [])
      t.ok(burials.length > 0)
    },
  )

  t.test(`${engine}: who beats is left alone, and who leaves takes all it held along`, async t => {
    const alive = standing(t, STEADY, false)
    const looking = standing(t, STEADY / 4)
    looking.watch('test', mourner)
    alive.watch('test', mourner)
    const name = await alive.name()
    t.equal(await alive.name(), name)
    await database.write([statement('hold', 'INSERT INTO held VALUES (?)', [name])])
    const beat = async () =>
      Number((await database.read(ALL, [])).find(({ id }) => id === name)?.beat)
    await eventually(async () => (await beat()) >= 2 || undefined)
    t.ok(alive.goesBy(name))
    await alive.close()
    t.notOk((await names()).includes(name))
    t.same(await database.read(sql('held', 'SELECT process FROM held'), []), [])
  })

  t.test(`${engine}: two that bury the same one: one does`, async t => {
    await database.write([entrance('p_once')])
    const bury = () => database.write(burial('p_once', 0, [mourner]))
    await bury()
    await t.rejects(bury(), { code: 'STILL_ALIVE' })
    await database.write([entrance('p_once')])
    await t.rejects(database.write(burial('p_once', 7, [mourner])), { code: 'STILL_ALIVE' })
    t.ok((await names()).includes('p_once'), 'it was heard of since')
    await database.write(burial('p_once', 0, []))
  })

  t.test(`${engine}: a process is not reaped while its on-crash statements stand`, async t => {
    const left = "INSERT INTO tollgate_wills (client, name, statements) VALUES (42, 'left', '[]')"
    await database.write([entrance('p_will', 42n), statement('left', left)])
    await t.rejects(database.write(burial('p_will', 0, [])), { code: 'STILL_ALIVE' })
    await database.write([statement('applied', 'DELETE FROM tollgate_wills WHERE client = 42')])
    await database.write(burial('p_will', 0, []))
    t.notOk((await names()).includes('p_will'))
  })

  t.test(`${engine}: one that was buried in its sleep says so, and begins anew`, async t => {
    const asleep = standing(t, SWIFT, false)
    let lost = 0
    asleep.watch('test', { lost: () => void lost++ })
    const name = await asleep.name()
    await database.write([statement('bury', 'DELETE FROM tollgate_processes', [])])
    await eventually(() => lost === 1 || undefined)
    t.notOk(asleep.goesBy(name))
    asleep.lost(name)
    t.equal(lost, 1, 'once')
    t.not(await asleep.name(), name)
  })

  t.test(
    `${engine}: cut off, it is in doubt and not lost; the store is back, and so is its name`,
    async t => {
      const own = await store.open({ patience: 1_000 })
      const line = { cut: false }
      const lent = {
        read: own.read,
        write: (list: readonly Statement[]) =>
          line.cut
            ? Promise.reject(Object.assign(new Error('cut'), { code: 'CUT' }))
            : own.write(list),
      }
      const standing = createStanding({ database: lent, log: silent, every: SWIFT, looks: false })
      t.teardown(() => standing.close())
      const seen = { lost: 0, doubtful: 0 }
      standing.watch('test', { lost: () => void seen.lost++, doubtful: () => void seen.doubtful++ })
      const name = await standing.name()
      line.cut = true
      await eventually(() => seen.doubtful === 1 || undefined)
      await t.rejects(standing.name(), { code: 'CUT' }, 'nothing is held by one who may be dead')
      line.cut = false
      t.equal(await standing.name(), name)
      t.equal(seen.lost, 0)
    },
  )
}
