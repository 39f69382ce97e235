/** A full disk, a disk that fails, a writer that sleeps, and one that is killed at each of its writes: under load, with the
 *  meter. The long form kills at more of them: `LONG=1`, or all up to KILLS=N. */
import { rmSync } from 'node:fs'
import t from 'tap'
import { scaled } from '../helpers/long.ts'
import { canSpoil, fill, type Reply, smallDisk, spoil, startTrouble, tellsWhen } from './trouble.ts'

t.setTimeout(1_200_000)
const served = ({ status }: Reply): boolean => status === 200
const refused = ({ status }: Reply): boolean => status === 503
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

  await trouble.settle(t)
})
