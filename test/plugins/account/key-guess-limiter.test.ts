/** Balance lookups without authentication: guesses are limited, valid keys are not, and memory is
 *  bounded. */
import t from 'tap'
import { KeyGuessLimiter } from '../../../plugins/account/key-guess-limiter.ts'

const setUp = () => {
  const state = { now: 0, lookups: 0 }
  const limiter = new KeyGuessLimiter(() => state.now)
  const lookUp = (address: string, secret: string) =>
    limiter.limit(address, secret, async () => {
      state.lookups++
      return secret.startsWith('right') ? secret : undefined
    })
  /** Tries `count` different wrong keys and returns how many were looked up. */
  const countLookups = async (address: string, count: number) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: count }, (_, at) => lookUp(address, `wrong ${state.now} ${at}`)),
    )
    return outcomes.filter(({ status }) => status === 'fulfilled').length
  }
  return { state, lookUp, countLookups }
}

t.test(
  'key-guess limiter: allows thirty unknown keys a minute from an address, also at once',
  async t => {
    const { state, lookUp, countLookups } = setUp()
    t.equal(await countLookups('192.0.2.1', 1_000), 30)
    t.equal(state.lookups, 30)
    state.now = 59_001
    await t.rejects(lookUp('192.0.2.1', 'wrong'), {
      code: 'KEYS_GUESSED',
      headers: { 'retry-after': '1' },
    })
    state.now = 60_000
    t.equal(await countLookups('192.0.2.1', 40), 30)
  },
)

t.test('key-guess limiter: a valid key does not count and passes while others guess', async t => {
  const { lookUp, countLookups } = setUp()
  for (let count = 100; count > 0; count--) t.ok(await lookUp('192.0.2.1', `right ${count}`))
  t.equal(await countLookups('192.0.2.1', 40), 30)
  t.equal(await lookUp('192.0.2.1', 'right 7'), 'right 7')
  await t.rejects(lookUp('192.0.2.1', 'right, but never looked up'), { code: 'KEYS_GUESSED' })
  t.ok(await lookUp('192.0.2.2', 'right, but never looked up'), 'from another address')
})

t.test('key-guess limiter: looks up an unknown key once', async t => {
  const { state, lookUp } = setUp()
  for (let count = 30; count > 0; count--) t.equal(await lookUp('192.0.2.1', 'wrong'), undefined)
  t.equal(state.lookups, 1)
  await t.rejects(lookUp('192.0.2.1', 'wrong'), { code: 'KEYS_GUESSED' })
})

t.test('key-guess limiter: a revoked key counts as unknown', async t => {
  let isKnown = true
  const limiter = new KeyGuessLimiter()
  const lookUp = () => limiter.limit('192.0.2.1', 'right', async () => isKnown || undefined)
  t.ok(await lookUp())
  isKnown = false
  t.equal(await lookUp(), undefined)
})

t.test('networkOf: groups IPv6 by /64, maps IPv4 in IPv6, keeps other texts', async t => {
  const { countLookups } = setUp()
  t.equal(await countLookups('2001:db8::1', 20), 20)
  t.equal(await countLookups('2001:db8::ffff:2', 20), 10)
  t.equal(await countLookups('2001:db8:0:1::1', 20), 20)
  t.equal(await countLookups('::ffff:192.0.2.9', 20), 20)
  t.equal(await countLookups('192.0.2.9', 20), 10)
  t.equal(await countLookups('', 40), 30)
})

t.test('key-guess limiter: a store failure does not count', async t => {
  const limiter = new KeyGuessLimiter()
  const failingLookup = () => Promise.reject(new Error('away'))
  for (let count = 30; count > 0; count--)
    await t.rejects(limiter.limit('192.0.2.1', 'right', failingLookup), { message: 'away' })
  t.ok(await limiter.limit('192.0.2.1', 'right', async () => true))
})

t.test('key-guess limiter: memory is bounded', async t => {
  const { countLookups, lookUp } = setUp()
  for (let at = 0; at < 20_000; at++)
    await lookUp(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, `wrong ${at} of many`)
  t.equal(await countLookups('10.0.0.0', 40), 30, 'the oldest network was dropped')
})
