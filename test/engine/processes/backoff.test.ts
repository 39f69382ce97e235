/** Back-off of restarts and the watchdog of heartbeats. */
import t from 'tap'
import { createBackoff } from '../../../engine/processes/backoff.ts'
import { createWatchdog } from '../../../engine/processes/watchdog.ts'

const clock = () => {
  let time = 1_000
  const pass = (ms: number): void => {
    time += ms
  }
  return { now: () => time, pass }
}

t.test('backoff: five crashes within 30 s are a loop', async t => {
  const { now, pass } = clock()
  const backoff = createBackoff(now)
  const delays = [1, 2, 3, 4].map(() => backoff.recordCrash())
  t.ok(Math.max(...delays) < 1_000, 'replaced within a second')
  t.equal(backoff.looping, false)
  t.ok(backoff.recordCrash() >= 1_000, 'slower from the fifth on')
  t.equal(backoff.looping, true)
  for (let ends = 0; ends < 100; ends++) backoff.recordCrash()
  t.ok(backoff.recordCrash() <= 10_000, 'never more than 10 s')
  pass(30_000)
  t.equal(backoff.looping, false, 'no loop after 30 s without a crash')
  t.equal(backoff.recordCrash(), 0)
})

t.test('backoff: crashes far apart are not a loop', async t => {
  const { now, pass } = clock()
  const backoff = createBackoff(now)
  for (let ends = 0; ends < 50; ends++) {
    t.ok(backoff.recordCrash() < 1_000)
    pass(7_600)
  }
  t.equal(backoff.looping, false)
})

t.test('watchdog: silence counts from the last heartbeat', async t => {
  const { now, pass } = clock()
  const watchdog = createWatchdog(250, now)
  const tick = (times: number) => {
    for (let each = 0; each < times; each++) {
      pass(250)
      watchdog.tick()
    }
  }
  watchdog.beat(1)
  watchdog.beat(2)
  tick(4)
  watchdog.beat(2)
  tick(4)
  t.equal(watchdog.silence(1), 2_000)
  t.equal(watchdog.silence(2), 1_000)
  watchdog.forget(1)
  t.equal(watchdog.silence(1), 0)
})

t.test('watchdog: a pause of the watching process itself does not count as silence', async t => {
  const { now, pass } = clock()
  const watchdog = createWatchdog(250, now)
  watchdog.beat(1)
  pass(60_000)
  watchdog.tick()
  t.ok(watchdog.silence(1) <= 250)
})
