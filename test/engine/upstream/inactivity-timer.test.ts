/** One timer calls members that were inactive beyond their deadline; it runs only with members. */
import t from 'tap'
import { InactivityTimer, type TimedRequest } from '../../../engine/upstream/inactivity-timer.ts'
import { byHand } from '../../helpers/ticks.ts'

const EVERY = 50

const createMember = (deadline: number): TimedRequest & { timeouts: number } => ({
  index: -1,
  activeAt: 0,
  deadline,
  timeouts: 0,
  onTimeout() {
    this.timeouts++
  },
})

t.test('inactivity timer: fires after the deadline, and not before', async t => {
  const ticks = byHand(t)
  const timer = new InactivityTimer()
  const one = createMember(200)
  timer.add(one)
  for (let n = 0; n < 5; n++) ticks.pass(EVERY, EVERY)
  t.equal(one.timeouts, 0, 'not within the deadline and one tick')
  ticks.pass(EVERY, EVERY)
  t.equal(one.timeouts, 1)
})

t.test('inactivity timer: activity restarts the deadline', async t => {
  const ticks = byHand(t)
  const timer = new InactivityTimer()
  const one = createMember(100)
  const other = createMember(Number.POSITIVE_INFINITY)
  timer.add(one)
  timer.add(other)
  for (let n = 0; n < 20; n++) {
    ticks.pass(EVERY, EVERY)
    one.activeAt = timer.now
  }
  t.equal(one.timeouts, 0)
  for (let n = 0; n < 20; n++) ticks.pass(EVERY, EVERY)
  t.ok(one.timeouts > 0)
  t.equal(other.timeouts, 0, 'an infinite deadline never fires')
})

t.test(
  'inactivity timer: a removed member is not called, and without members no timer runs',
  async t => {
    const ticks = byHand(t)
    const timer = new InactivityTimer()
    const [one, two] = [createMember(0), createMember(1_000)]
    t.equal(ticks.running, 0)
    timer.add(one)
    timer.add(two)
    t.equal(ticks.running, 1, 'one timer for both')
    timer.remove(one)
    ticks.pass(500, EVERY)
    t.equal(one.timeouts, 0)
    timer.remove(two)
    ticks.pass(EVERY, EVERY)
    t.equal(ticks.running, 0)
    timer.add(one)
    t.equal(ticks.running, 1, 'and it starts again')
  },
)

t.test('inactivity timer: a member may remove itself in its timeout', async t => {
  const ticks = byHand(t)
  const timer = new InactivityTimer()
  const all = [createMember(0), createMember(0), createMember(0)]
  for (const each of all) {
    each.onTimeout = () => {
      each.timeouts++
      timer.remove(each)
    }
    timer.add(each)
  }
  ticks.pass(500, EVERY)
  ticks.pass(500, EVERY)
  t.same(
    all.map(({ timeouts }) => timeouts),
    [1, 1, 1],
  )
})
