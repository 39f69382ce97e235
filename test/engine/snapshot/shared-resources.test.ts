/** Resources that outlive a reload: created once, passed from version to version, closed at the
 *  last release. */
import t from 'tap'
import { SharedResources } from '../../../engine/snapshot/shared-resources.ts'

interface Pool {
  readonly name: string
  readonly before: Pool | undefined
  closed: number
  close(): void
}
const pool =
  (name: string) =>
  (before: Pool | undefined): Pool => ({
    name,
    before,
    closed: 0,
    close() {
      this.closed++
    },
  })

t.test('shared resources: one per key and version, however many users', async t => {
  const shared = new SharedResources()
  const one = shared.acquire('pool', '1', pool('a'))
  const two = shared.acquire('pool', '1', pool('b'))
  const other = shared.acquire('cache', '1', pool('c'))
  t.equal(two.value, one.value)
  t.equal(one.value.name, 'a')
  t.not(other.value, one.value)
  t.equal(shared.size, 2)
})

t.test('shared resources: closed at the last release, created again for the next user', async t => {
  const shared = new SharedResources()
  const one = shared.acquire('pool', '1', pool('a'))
  const two = shared.acquire('pool', '1', pool('a'))
  one.release()
  t.equal(one.value.closed, 0)
  two.release()
  t.equal(one.value.closed, 1)
  t.equal(shared.size, 0)
  const next = shared.acquire('pool', '1', pool('b'))
  t.match(next.value, { name: 'b', before: undefined })
})

t.test('shared resources: another version gets the old value to take its state over', async t => {
  const shared = new SharedResources()
  const old = shared.acquire('pool', '1', pool('a'))
  const young = shared.acquire('pool', '2', pool('b'))
  t.equal(young.value.before, old.value)
  t.equal(shared.acquire('pool', '2', pool('c')).value, young.value, 'which is the one from now on')
  old.release()
  t.equal(old.value.closed, 1, 'the old one is closed by those who used it')
  t.equal(young.value.closed, 0)
  t.equal(shared.size, 1)
})

t.test(
  'shared resources: an older version that outlives a newer one does not replace it',
  async t => {
    const shared = new SharedResources()
    const old = shared.acquire('pool', '1', pool('a'))
    const young = shared.acquire('pool', '2', pool('b'))
    young.release()
    t.equal(young.value.closed, 1)
    t.equal(shared.size, 0)
    old.release()
    t.equal(old.value.closed, 1)
  },
)

t.test('shared resources: a version that cannot be created leaves the old one', async t => {
  const shared = new SharedResources()
  const old = shared.acquire('pool', '1', pool('a'))
  const broken = (): Pool => {
    throw new Error('no pool')
  }
  t.throws(() => shared.acquire('pool', '2', broken), /no pool/)
  t.throws(() => shared.acquire('new', '1', broken), /no pool/)
  t.equal(shared.acquire('pool', '1', pool('b')).value, old.value)
  t.equal(shared.size, 1)
})

t.test('shared resources: a close that fails, at once or later, is ignored', async t => {
  const shared = new SharedResources()
  const failing = [
    { close: () => Promise.reject(new Error('later')) },
    {
      close() {
        throw new Error('at once')
      },
    },
    {},
  ]
  for (const value of failing)
    t.doesNotThrow(() => shared.acquire('pool', '1', () => value).release())
  await shared.closed()
  t.equal(shared.size, 0)
})

t.test('shared resources: waiting for closed resources includes all released ones', async t => {
  const shared = new SharedResources()
  const late = Promise.withResolvers<void>()
  shared.acquire('slow', '1', () => ({ close: () => late.promise })).release()
  let closed = false
  const waiting = shared.closed().then(() => {
    closed = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(closed)
  late.resolve()
  await waiting
  await shared.closed()
})
