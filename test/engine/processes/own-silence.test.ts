/** Silence of a worker that waits for a core is not its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { OwnSilence, readCoreWait } from '../../../engine/processes/watchdog.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

t.test('own silence: time for which a process waits for a core does not count', async t => {
  let wait = 5_000
  const silence = new OwnSilence(() => wait)
  t.equal(silence.of(200, 500), 200)
  t.equal(silence.of(700, 500), 700, 'it begins to count')
  wait += 2_500
  t.equal(silence.of(3_300, 500), 800)
  t.equal(silence.of(100, 500), 100, 'a heartbeat has come')
  t.equal(silence.of(900, 500), 900, 'the earlier wait is over')
  t.equal(silence.of(3_200, 500), 3_200, 'a process that computes has no excuse')
})

const isLinux = process.platform === 'linux'
t.test('own silence: Linux tells the wait of a process', { skip: !isLinux }, async t => {
  const busy = (): ChildProcess =>
    spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' })
  const pair = [busy(), busy()]
  t.teardown(async () => {
    for (const each of pair) if (each.kill('SIGKILL')) await once(each, 'exit')
  })
  const pid = pair[0]?.pid ?? 0
  await eventually(() => readCoreWait(pid) > 50)
  t.equal(readCoreWait(0), 0, 'of no process')
})
