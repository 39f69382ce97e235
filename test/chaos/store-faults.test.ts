/** Faults of the embedded store under load: a full disk, a failing disk, a stopped writer, and a
 *  writer killed at its writes. The long form kills at more writes (`LONG=1`, or KILLS=N), and at
 *  every write, sync and answer of a fixed series of calls. */
import { rmSync } from 'node:fs'
import t from 'tap'
import { eventually } from '../helpers/gateway/primary.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { shortOrLong } from '../helpers/run-settings.ts'
import type { Reply } from './call-client.ts'
import {
  canInjectFaults,
  checkRefusals,
  failingDisk,
  fillDisk,
  injectFault,
  smallDisk,
  startFaultyGateway,
} from './faulty-gateway.ts'

t.setTimeout(scaled(1_200_000))
const isServed = ({ status }: Reply): boolean => status === 200
const isRefused = ({ status }: Reply): boolean => status === 503
/** The system calls with which a writer changes its files, syncs them and answers. */
const CALLS = 'pwrite64,fdatasync,ftruncate,write,writev'
const skip = canInjectFaults() ? false : 'no strace here, or not allowed to trace'

const disk = smallDisk(t, 8)
t.test(
  'store faults: a full disk refuses billed calls and recovers',
  { skip: !disk && 'mounting a disk is not permitted here' },
  async t => {
    const trouble = await startFaultyGateway(t, disk)
    await trouble.until(isServed, 20)
    const filler = fillDisk(trouble.data)
    checkRefusals(t, await trouble.until(isRefused, 20))
    t.equal((await trouble.askFree()).status, 200, 'free calls are served')
    rmSync(filler)
    await trouble.until(isServed, 20)
    t.pass('billed calls are served again')
    await trouble.finishAndCheck(t)
  },
)

t.test(
  'store faults: a call that was charged, refused and forgotten by a crash is free',
  { skip },
  async t => {
    const trouble = await startFaultyGateway(t)
    await trouble.until(isServed, 20)
    const writer = await trouble.writer()
    // Nobody starts another writer.
    process.kill(trouble.primary(), 'SIGSTOP')
    // It has written the charges by its answer.
    await (await injectFault(writer, 'write,writev,sendto,sendmsg:signal=SIGKILL:when=2+')).ended
    await trouble.until(isRefused, 4)
    await trouble.crash()
    await trouble.until(isServed, 20)
    t.ok((await trouble.finishAndCheck(t)) > 0, 'some of the refused calls had been charged')
  },
)

const failing = failingDisk(t)
t.test(
  'store faults: a data folder that turns read-only refuses billed calls and loses no charge',
  { skip: !failing && 'mounting a file system is not permitted here' },
  async t => {
    const trouble = await startFaultyGateway(t, failing?.folder)
    await trouble.until(isServed, 20)
    await failing?.fail(await trouble.writer())
    checkRefusals(t, await trouble.until(isRefused, 20))
    t.equal((await trouble.askFree()).status, 200, 'free calls are served')
    await eventually(async () => (await trouble.ready()) === 503)
    t.pass('the gateway is not ready')
    await trouble.restart(() => failing?.repair())
    await trouble.until(isServed, 20)
    t.equal(await trouble.ready(), 200)
    await trouble.finishAndCheck(t)
  },
)

t.test('store faults: a stopped, failing or killed writer loses no charge', async t => {
  const trouble = await startFaultyGateway(t)
  await trouble.until(isServed, 20)

  await t.test('a stopped writer refuses billed calls and recovers', async t => {
    const writer = await trouble.writer()
    process.kill(writer, 'SIGSTOP')
    checkRefusals(t, await trouble.until(isRefused, 8))
    t.equal((await trouble.askFree()).status, 200, 'free calls are served')
    process.kill(writer, 'SIGCONT')
    await trouble.until(isServed, 20)
  })

  await t.test('a failing fsync restarts the writer', { skip }, async t => {
    const writer = await trouble.writer()
    await (await injectFault(writer, 'fsync,fdatasync:error=EIO:when=1+')).ended
    await trouble.until(isServed, 20)
    t.not(await trouble.writer(), writer, 'another writer recovered the log')
  })

  await t.test('a writer killed at its writes, one after another', { skip }, async t => {
    const points = Number(process.env.KILLS ?? shortOrLong(4, 50))
    for (let point = 1; point <= points; point++) {
      await (await injectFault(await trouble.writer(), `pwrite64:signal=SIGKILL:when=${point}`))
        .ended
      await trouble.until(isServed, 5)
    }
    t.pass(`${points} points, ${trouble.replies.length} calls`)
  })

  await t.test('a writer killed at every system call of the same calls', { skip }, async t => {
    const maximum = shortOrLong(2, 5_000)
    for (let point = 1; point <= maximum; point++) {
      const writer = await trouble.writer()
      const injection = await injectFault(writer, `${CALLS}:signal=SIGKILL:when=${point}`)
      await trouble.runFixedCalls()
      if ((await trouble.writer()) === writer) {
        await injection.stop()
        t.comment(`all ${point - 1} system calls`)
        break
      }
      await injection.ended
    }
    t.pass(`${trouble.replies.length} calls`)
  })

  await trouble.finishAndCheck(t)
})
