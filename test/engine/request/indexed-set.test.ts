/** A set whose members remember their index: unique members, removal while iterating. */

import t from 'tap'
import { type Indexed, IndexedSet } from '../../../engine/request/indexed-set.ts'
import fc from '../../helpers/property.ts'

interface Member extends Indexed {
  readonly name: number
}
const member = (name: number): Member => ({ name, index: -1 })

t.test('indexed set: has each member once, until it is removed', async t => {
  const roster = new IndexedSet<Member>()
  const [a, b, c] = [member(1), member(2), member(3)]
  for (const each of [a, b, c, a]) roster.add(each)
  t.equal(roster.size, 3, 'coming twice is coming once')
  t.equal(roster.remove(a), true)
  t.equal(roster.remove(a), false)
  t.equal(roster.remove(member(4)), false)
  t.same([...roster].map(({ name }) => name).sort(), [2, 3])
})

t.test('indexed set: members may be removed while it is iterated', async t => {
  const roster = new IndexedSet<Member>()
  const all = [1, 2, 3, 4].map(member)
  for (const each of all) roster.add(each)
  const seen: number[] = []
  for (const each of roster) {
    seen.push(each.name)
    roster.remove(each)
  }
  t.same(seen, [1, 2, 3, 4])
  t.equal(roster.size, 0)
})

t.test('indexed set: behaves as a Set in any sequence of operations', async t => {
  const moves = fc.array(fc.record({ name: fc.nat(9), comes: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(moves, list => {
      const people = Array.from({ length: 10 }, (_, name) => member(name))
      const roster = new IndexedSet<Member>()
      const set = new Set<Member>()
      for (const { name, comes } of list) {
        const who = people[name] as Member
        if (comes) roster.add(who)
        else if (roster.remove(who) !== set.has(who)) return false
        if (comes) set.add(who)
        else set.delete(who)
      }
      const here = [...roster]
      return here.length === set.size && here.every(each => set.has(each) && each.index >= 0)
    }),
  )
  t.pass()
})
