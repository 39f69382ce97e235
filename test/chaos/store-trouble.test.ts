/** A full disk, a disk that fails, a writer that sleeps, and one that is killed at each of its writes: under load, with the
 *  meter. The long form kills at more of them (`LONG=1`, or KILLS=N), and at every single one of the same few calls: of what is
 *  written, synced and answered. */
import { rmSync } from 'node:fs'
import t from 'tap'
import { scaled } from '../helpers/long.ts'
import type { Reply } from './asking.ts'
import { canSpoil, fill, smallDisk, spoil, startTrouble, tellsWhen } from './trouble.ts'

t.setTimeout(1_200_000)
const served = ({ status }: Reply): boolean => status === 200
const refused = ({ status }: Reply): boolean => status === 503
/** By which a writer changes its files, makes sure of them, and answers. */
const CALLS = 'pwrite64,fdatasync,ftruncate,write,writev'
const without = canSpoil() ? false : 'no strace here, or not allowed to trace'

const disk = smallDisk(t, 8)
t.test('a full disk', { skip: !disk && 'nobody may mount a disk here' }, async t => {
  const trouble = await startTrouble(t, disk)
  await trouble.until(served, 20)
  const filler = fill(trouble.data)
  tellsWhen(t, await trouble.until(refused, 20))
  t.equal((await trouble.free()).status, 200, 'what costs nothing is served')
  rmSync(filler)
  await trouble.until(served, 20)
  t.pass('it healed by itself')
  await trouble.settle(t)
})

t.test('one trouble after another', async t => {
  const trouble = await startTrouble(t)
  await trouble.until(served, 20)

  await t.test('a writer that sleeps', async t => {
    const writer = await trouble.writer()
    process.kill(writer, 'SIGSTOP')
    tellsWhen(t, await trouble.until(refused, 8))
    t.equal((await trouble.free()).status, 200, 'what costs nothing is served')
    process.kill(writer, 'SIGCONT')
    await trouble.until(served, 20)
  })

  await t.test('an fsync that fails', { skip: without }, async t => {
    const writer = await trouble.writer()
    await (await spoil(writer, 'fsync,fdatasync:error=EIO:when=1+')).ended
    await trouble.until(served, 20)
    t.not(await trouble.writer(), writer, 'another writer read the log again')
  })

  await t.test('a writer killed at its writes, one after another', { skip: without }, async t => {
    const points = Number(process.env.KILLS ?? scaled(4, 50))
    for (let point = 1; point <= points; point++) {
      await (await spoil(await trouble.writer(), `pwrite64:signal=SIGKILL:when=${point}`)).ended
      await trouble.until(served, 5)
    }
    t.pass(`${points} points, ${trouble.replies.length} calls`)
  })

  await t.test('a writer killed at every call of the same work', { skip: without }, async t => {
    const most = scaled(2, 5_000)
    for (let point = 1; point <= most; point++) {
      const writer = await trouble.writer()
      const spoiled = await spoil(writer, `${CALLS}:signal=SIGKILL:when=${point}`)
      await trouble.work()
      if ((await trouble.writer()) === writer) {
        await spoiled.stop()
        t.comment(`all ${point - 1} of them`)
        break
      }
      await spoiled.ended
    }
    t.pass(`${trouble.replies.length} calls`)
  })

  await trouble.settle(t)
})
