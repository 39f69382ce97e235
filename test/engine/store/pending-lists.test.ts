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
