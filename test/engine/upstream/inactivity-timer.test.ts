/** One timer calls whatever was inactive beyond its deadline, and runs only while it has members. */
import t from 'tap'
import { InactivityTimer, type TimedRequest } from '../../../engine/upstream/inactivity-timer.ts'
import { byHand } from '../../helpers/ticks.ts'

const EVERY = 50

const watched = (patience: number): TimedRequest & { told: number } => ({
  index: -1,
  activeAt: 0,
  deadline: patience,
  told: 0,
  onTimeout() {
    this.told++
  },
})

t.test('inactivity timer: fires after the deadline, and not before', async t => {
  const ticks = byHand(t)
  const vigil = new InactivityTimer()
  const one = watched(200)
  vigil.add(one)
  for (let n = 0; n < 5; n++) ticks.pass(EVERY, EVERY)
  t.equal(one.told, 0, 'patience and a tick')
  ticks.pass(EVERY, EVERY)
  t.equal(one.told, 1)
})

t.test('inactivity timer: activity restarts the deadline', async t => {
  const ticks = byHand(t)
  const vigil = new InactivityTimer()
  const one = watched(100)
  const other = watched(Number.POSITIVE_INFINITY)
  vigil.add(one)
  vigil.add(other)
  for (let n = 0; n < 20; n++) {
    ticks.pass(EVERY, EVERY)
    one.activeAt = vigil.now
  }
  t.equal(one.told, 0)
  for (let n = 0; n < 20; n++) ticks.pass(EVERY, EVERY)
  t.ok(one.told > 0)
  t.equal(other.told, 0, 'and some have no end of it')
})

t.test(
  'inactivity timer: a removed member is not called, and without members no timer runs',
  async t => {
    const ticks = byHand(t)
    const vigil = new InactivityTimer()
    const [one, two] = [watched(0), watched(1_000)]
    t.equal(ticks.running, 0)
    vigil.add(one)
    vigil.add(two)
    t.equal(ticks.running, 1, 'one for both')
    vigil.remove(one)
    ticks.pass(500, EVERY)
    t.equal(one.told, 0)
    vigil.remove(two)
    ticks.pass(EVERY, EVERY)
    t.equal(ticks.running, 0)
    vigil.add(one)
    t.equal(ticks.running, 1, 'and it starts again')
  },
)

t.test('inactivity timer: a member may remove itself in its timeout', async t => {
  const ticks = byHand(t)
  const vigil = new InactivityTimer()
  const all = [watched(0), watched(0), watched(0)]
  for (const each of all) {
    each.onTimeout = () => {
      each.told++
      vigil.remove(each)
    }
    vigil.add(each)
  }
  ticks.pass(500, EVERY)
  ticks.pass(500, EVERY)
  t.same(
    all.map(({ told }) => told),
    [1, 1, 1],
  )
})
