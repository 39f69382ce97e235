/** Pending lists by number. */
import t from 'tap'
import { PendingLists } from '../../../engine/store/pending-lists.ts'
import fc from '../../helpers/property.ts'

t.test('pending lists: behave like a Map with ascending keys', async () => {
  const step = fc.record({ deed: fc.constantFrom('new', 'new', 'delete', 'late'), pick: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, many) => {
      const waiting = new PendingLists<string>()
      const map = new Map<number, string>()
      const deletedNumbers: number[] = []
      let last = 0
      for (const { deed: action, pick } of steps) {
        const keys = [...map.keys()]
        const number = keys[pick % keys.length]
        const again = deletedNumbers[pick % deletedNumbers.length]
        if (action === 'delete' && number !== undefined) {
          waiting.delete(number)
          map.delete(number)
          deletedNumbers.push(number)
        } else if (action === 'late' && again !== undefined && !map.has(again)) {
          waiting.set(again, `${again}`)
          map.set(again, `${again}`)
        }
        // Enough entries to reach the point where the array is trimmed.
        else
          for (let more = many ? 700 : 1; more > 0; more--) {
            waiting.set(++last, `${last}`)
            map.set(last, `${last}`)
          }
        const right =
          waiting.size === map.size &&
          waiting.get(last) === map.get(last) &&
          waiting.get(last + 1) === undefined &&
          waiting.least(last + 1) === Math.min(last + 1, ...map.keys())
        if (!right) return false
      }
      return waiting.values().toSorted().join() === [...map.values()].toSorted().join()
    }),
    { numRuns: 200 },
  )
})
