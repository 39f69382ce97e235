/** Random ids cut from a pool. */
import t from 'tap'
import { createIds, createTimedIds } from '../../../engine/request/ids.ts'

t.test('ids: have the requested number of hexadecimal digits and are unique', async t => {
  const ids = createIds()
  const uniqueIds = new Set<string>()
  // Enough to use the pool up several times, with an end that does not fit it.
  for (let n = 0; n < 5_000; n++) {
    const id = ids(n % 2 === 0 ? 16 : 7)
    if (!/^(?:[0-9a-f]{32}|[0-9a-f]{14})$/.test(id) || uniqueIds.has(id)) t.fail(id)
    uniqueIds.add(id)
  }
  t.equal(uniqueIds.size, 5_000)
  t.not(createIds()(16), createIds()(16), 'ids of two pools differ')
})

t.test('timed ids: begin with their time and are unique within one ms', async t => {
  let now = 0x19a9d000000
  const make = createTimedIds(() => now)
  const [one, other] = [make(), make()]
  t.match(one, /^019a9d000000[0-9a-f]{20}$/)
  t.not(one, other)
  now++
  const later = make()
  t.ok(later > one && later > other, 'ids grow with time')
})
