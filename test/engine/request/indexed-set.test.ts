/** A set whose members store their index: unique members, removal while iterating. */
import t from 'tap'
import { type Indexed, IndexedSet } from '../../../engine/request/indexed-set.ts'
import fc from '../../helpers/property.ts'

interface Member extends Indexed {
  readonly name: number
}
const member = (name: number): Member => ({ name, index: -1 })

t.test('indexed set: has each member once, until it is removed', async t => {
  const indexedSet = new IndexedSet<Member>()
  const [a, b, c] = [member(1), member(2), member(3)]
  for (const each of [a, b, c, a]) indexedSet.add(each)
  t.equal(indexedSet.size, 3, 'a second add changes nothing')
  t.equal(indexedSet.remove(a), true)
  t.equal(indexedSet.remove(a), false)
  t.equal(indexedSet.remove(member(4)), false)
  t.same([...indexedSet].map(({ name }) => name).sort(), [2, 3])
})

t.test('indexed set: members may be removed while it is iterated', async t => {
  const indexedSet = new IndexedSet<Member>()
  const all = [1, 2, 3, 4].map(member)
  for (const each of all) indexedSet.add(each)
  const names: number[] = []
  for (const each of indexedSet) {
    names.push(each.name)
    indexedSet.remove(each)
  }
  t.same(names, [1, 2, 3, 4])
  t.equal(indexedSet.size, 0)
})

t.test('indexed set: behaves as a Set in any sequence of operations', async t => {
  const moves = fc.array(fc.record({ name: fc.nat(9), isAdded: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(moves, list => {
      const members = Array.from({ length: 10 }, (_, name) => member(name))
      const indexedSet = new IndexedSet<Member>()
      const set = new Set<Member>()
      for (const { name, isAdded } of list) {
        const subject = members[name] as Member
        if (isAdded) indexedSet.add(subject)
        else if (indexedSet.remove(subject) !== set.has(subject)) return false
        if (isAdded) set.add(subject)
        else set.delete(subject)
      }
      const remaining = [...indexedSet]
      return (
        remaining.length === set.size && remaining.every(each => set.has(each) && each.index >= 0)
      )
    }),
  )
  t.pass()
})
