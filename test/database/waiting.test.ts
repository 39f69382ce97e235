/** What waits for an answer, by number; and when lists had better wait for each other. */

import t from 'tap'
import { Crowd } from '../../engine/database/crowd.ts'
import { Waiting } from '../../engine/database/waiting.ts'
import fc from '../helpers/property.ts'

t.test('it is a map whose new keys are the next number', async () => {
  const step = fc.record({ deed: fc.constantFrom('new', 'new', 'delete', 'late'), pick: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, many) => {
      const waiting = new Waiting<string>()
      const map = new Map<number, string>()
      const gone: number[] = []
      let last = 0
      for (const { deed, pick } of steps) {
        const keys = [...map.keys()]
        const number = keys[pick % keys.length]
        const again = gone[pick % gone.length]
        if (deed === 'delete' && number !== undefined) {
          waiting.delete(number)
          map.delete(number)
          gone.push(number)
        } else if (deed === 'late' && again !== undefined && !map.has(again)) {
          waiting.set(again, `${again}`)
          map.set(again, `${again}`)
        }
        // Enough at once to pass the place where what is over is cut off.
        else
          for (let more = many ? 700 : 1; more > 0; more--) {
            waiting.set(++last, `${last}`)
            map.set(last, `${last}`)
          }
        const right =
          waiting.size === map.size &&
          waiting.get(last) === map.get(last) &&
          waiting.get(last + 1) === undefined &&
          waiting.oldest(last + 1) === Math.min(last + 1, ...map.keys())
        if (!right) return false
      }
      return waiting.values().toSorted().join() === [...map.values()].toSorted().join()
    }),
    { numRuns: 200 },
  )
})

t.test('few never wait, a crowd waits a moment, and no longer than it is one', async t => {
  const crowd = new Crowd()
  for (let now = 10; now < 100; now += 2) {
    crowd.sent(1, now, 3)
    t.equal(crowd.wait, 0, '500 a second')
  }
  crowd.sent(20, 102, 20)
  t.ok(crowd.wait > 0)
  crowd.sent(20, 104, 9)
  t.ok(crowd.wait > 0)
  crowd.sent(3, 106, 3)
  t.equal(crowd.wait, 0)
  crowd.sent(2, 109, 40)
  t.ok(crowd.wait > 0, 'many wait for an answer')
  crowd.sent(2, 112, 2)
  t.equal(crowd.wait, 0)
})
