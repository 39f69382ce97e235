/** How long a child is waited for, and how often it is started again. */
import t from 'tap'
import { createBackoff, createWatchdog } from '../../../engine/processes/backoff.ts'

const clock = () => {
  let time = 1_000
  const pass = (ms: number): void => {
    time += ms
  }
  return { now: () => time, pass }
}

t.test('the first ends are bad luck, the fifth in half a minute is a loop', async t => {
  const { now, pass } = clock()
  const backoff = createBackoff(now)
  const delays = [1, 2, 3, 4].map(() => backoff.ended())
  t.ok(Math.max(...delays) < 1_000, 'replaced within a second')
  t.equal(backoff.looping, false)
  t.ok(backoff.ended() >= 1_000, 'from then on slowly')
  t.equal(backoff.looping, true)
  for (let ends = 0; ends < 100; ends++) backoff.ended()
  t.ok(backoff.ended() <= 10_000, 'but for ever')
  pass(30_000)
  t.equal(backoff.looping, false, 'half a minute of quiet and it is over')
  t.equal(backoff.ended(), 0)
})

t.test('ends far apart are never a loop', async t => {
  const { now, pass } = clock()
  const backoff = createBackoff(now)
  for (let ends = 0; ends < 50; ends++) {
    t.ok(backoff.ended() < 1_000)
    pass(7_600)
  }
  t.equal(backoff.looping, false)
})

t.test('silence is counted from the last sign of life', async t => {
  const { now, pass } = clock()
  const watchdog = createWatchdog(250, now)
  const tick = (times: number) => {
    for (let each = 0; each < times; each++) {
      pass(250)
      watchdog.tick()
    }
  }
  watchdog.heard(1)
  watchdog.heard(2)
  tick(4)
  watchdog.heard(2)
  tick(4)
  t.equal(watchdog.silence(1), 2_000)
  t.equal(watchdog.silence(2), 1_000)
  watchdog.forget(1)
  t.equal(watchdog.silence(1), 0)
})

t.test('who slept itself accuses nobody', async t => {
  const { now, pass } = clock()
  const watchdog = createWatchdog(250, now)
  watchdog.heard(1)
  pass(60_000)
  watchdog.tick()
  t.ok(watchdog.silence(1) <= 250)
})
