/** Balances without a credential: who tries keys is stopped, who holds one is not, and neither makes memory grow. */
import t from 'tap'
import { KeyGuessLimiter } from '../../../plugins/account/key-guess-limiter.ts'

const setUp = () => {
  const state = { now: 0, asked: 0 }
  const guesses = new KeyGuessLimiter(() => state.now)
  const look = (address: string, secret: string) =>
    guesses.limit(address, secret, async () => {
      state.asked++
      return secret.startsWith('right') ? secret : undefined
    })
  /** How many of so many different wrong keys are looked up. */
  const tries = async (address: string, count: number) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: count }, (_, at) => look(address, `wrong ${state.now} ${at}`)),
    )
    return outcomes.filter(({ status }) => status === 'fulfilled').length
  }
  return { state, look, tries }
}

t.test('thirty a minute from an address, however many at once', async t => {
  const { state, look, tries } = setUp()
  t.equal(await tries('192.0.2.1', 1_000), 30)
  t.equal(state.asked, 30)
  state.now = 59_001
  await t.rejects(look('192.0.2.1', 'wrong'), {
    ...{ code: 'KEYS_GUESSED', headers: { 'retry-after': '1' } },
  })
  state.now = 60_000
  t.equal(await tries('192.0.2.1', 40), 30)
})

t.test('a right key is no try; known, it passes where others guess', async t => {
  const { look, tries } = setUp()
  for (let left = 100; left > 0; left--) t.ok(await look('192.0.2.1', `right ${left}`))
  t.equal(await tries('192.0.2.1', 40), 30)
  t.equal(await look('192.0.2.1', 'right 7'), 'right 7')
  await t.rejects(look('192.0.2.1', 'right, but never seen'), { code: 'KEYS_GUESSED' })
  t.ok(await look('192.0.2.2', 'right, but never seen'), 'from elsewhere')
})

t.test('a wrong key is looked up once', async t => {
  const { state, look } = setUp()
  for (let left = 30; left > 0; left--) t.equal(await look('192.0.2.1', 'wrong'), undefined)
  t.equal(state.asked, 1)
  await t.rejects(look('192.0.2.1', 'wrong'), { code: 'KEYS_GUESSED' })
})

t.test('a key that was revoked is wrong from then on', async t => {
  let there = true
  const guesses = new KeyGuessLimiter()
  const look = () => guesses.limit('192.0.2.1', 'right', async () => there || undefined)
  t.ok(await look())
  there = false
  t.equal(await look(), undefined)
})

t.test('addresses: a /64 is one, IPv4 in IPv6 is IPv4, what is none is itself', async t => {
  const { tries } = setUp()
  t.equal(await tries('2001:db8::1', 20), 20)
  t.equal(await tries('2001:db8::ffff:2', 20), 10)
  t.equal(await tries('2001:db8:0:1::1', 20), 20)
  t.equal(await tries('::ffff:192.0.2.9', 20), 20)
  t.equal(await tries('192.0.2.9', 20), 10)
  t.equal(await tries('', 40), 30)
})

t.test('a store that is away is not a wrong key', async t => {
  const guesses = new KeyGuessLimiter()
  const away = () => Promise.reject(new Error('away'))
  for (let left = 30; left > 0; left--)
    await t.rejects(guesses.limit('192.0.2.1', 'right', away), { message: 'away' })
  t.ok(await guesses.limit('192.0.2.1', 'right', async () => true))
})

t.test('twenty thousand addresses and keys are forgotten again', async t => {
  const { tries, look } = setUp()
  for (let at = 0; at < 20_000; at++)
    await look(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, `wrong ${at} of many`)
  t.equal(await tries('10.0.0.0', 40), 30, 'its one try is forgotten')
})
