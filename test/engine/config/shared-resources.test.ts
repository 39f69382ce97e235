/** Resources that outlive a reload: created once, passed from version to version, closed at the
 *  last release. */
import t from 'tap'
import { SharedResources } from '../../../engine/config/shared-resources.ts'

interface Pool {
  readonly name: string
  readonly before: Pool | undefined
  closeCount: number
  close(): void
}
const pool =
  (name: string) =>
  (before: Pool | undefined): Pool => ({
    name,
    before,
    closeCount: 0,
    close() {
      this.closeCount++
    },
  })

t.test('shared resources: one value per key and version for all users', async t => {
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
  t.equal(one.value.closeCount, 0)
  two.release()
  t.equal(one.value.closeCount, 1)
  t.equal(shared.size, 0)
  const next = shared.acquire('pool', '1', pool('b'))
  t.match(next.value, { name: 'b', before: undefined })
})

t.test('shared resources: create of another version gets the old value', async t => {
  const shared = new SharedResources()
  const old = shared.acquire('pool', '1', pool('a'))
  const newer = shared.acquire('pool', '2', pool('b'))
  t.equal(newer.value.before, old.value)
  t.equal(shared.acquire('pool', '2', pool('c')).value, newer.value, 'the new version is current')
  old.release()
  t.equal(old.value.closeCount, 1, 'the last user of the old version closes it')
  t.equal(newer.value.closeCount, 0)
  t.equal(shared.size, 1)
})

t.test(
  'shared resources: an older version that outlives a newer one does not replace it',
  async t => {
    const shared = new SharedResources()
    const old = shared.acquire('pool', '1', pool('a'))
    const newer = shared.acquire('pool', '2', pool('b'))
    newer.release()
    t.equal(newer.value.closeCount, 1)
    t.equal(shared.size, 0)
    old.release()
    t.equal(old.value.closeCount, 1)
  },
)

t.test('shared resources: a version that cannot be created leaves the old one', async t => {
  const shared = new SharedResources()
  const old = shared.acquire('pool', '1', pool('a'))
  const createBroken = (): Pool => {
    throw new Error('no pool')
  }
  t.throws(() => shared.acquire('pool', '2', createBroken), /no pool/)
  t.throws(() => shared.acquire('new', '1', createBroken), /no pool/)
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
  let isClosed = false
  const waiting = shared.closed().then(() => {
    isClosed = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(isClosed)
  late.resolve()
  await waiting
  await shared.closed()
})
