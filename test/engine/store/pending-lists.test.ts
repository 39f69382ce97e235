/** Pending lists by number. */
import t from 'tap'
import { PendingLists } from '../../../engine/store/pending-lists.ts'
import fc from '../../helpers/property.ts'

t.test('pending lists: behave like a Map with ascending keys', async () => {
  const step = fc.record({
    action: fc.constantFrom('new', 'new', 'delete', 'late'),
    pick: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, many) => {
      const pending = new PendingLists<string>()
      const map = new Map<number, string>()
      const deletedNumbers: number[] = []
      let last = 0
      for (const { action, pick } of steps) {
        const keys = [...map.keys()]
        const number = keys[pick % keys.length]
        const again = deletedNumbers[pick % deletedNumbers.length]
        if (action === 'delete' && number !== undefined) {
          pending.delete(number)
          map.delete(number)
          deletedNumbers.push(number)
        } else if (action === 'late' && again !== undefined && !map.has(again)) {
          pending.set(again, `${again}`)
          map.set(again, `${again}`)
        }
        // Enough entries to reach the point where the array is trimmed.
        else
          for (let more = many ? 700 : 1; more > 0; more--) {
            pending.set(++last, `${last}`)
            map.set(last, `${last}`)
          }
        const isEqual =
          pending.size === map.size &&
          pending.get(last) === map.get(last) &&
          pending.get(last + 1) === undefined &&
          pending.least(last + 1) === Math.min(last + 1, ...map.keys())
        if (!isEqual) return false
      }
      return pending.values().toSorted().join() === [...map.values()].toSorted().join()
    }),
    { numRuns: 200 },
  )
})

t.test('pending lists: the array is trimmed, and numbers below it are found', async t => {
  const pending = new PendingLists<number>()
  for (let number = 1; number <= 3_000; number++) pending.set(number, number)
  for (let number = 1; number <= 2_500; number++) pending.delete(number)
  pending.delete(7)
  t.equal(pending.size, 500, 'a number that is deleted twice counts once')
  pending.set(7, 70)
  t.same([pending.get(7), pending.get(8), pending.get(2_501)], [70, undefined, 2_501])
  t.equal(pending.least(3_001), 7)
  t.same(pending.values().slice(0, 2), [70, 2_501])
})
