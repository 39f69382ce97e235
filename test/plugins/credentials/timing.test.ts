/** How long a look-up takes says nothing of how near a guess was: to one that differs from a key in its first digit, and to one that
 *  differs in its last. Timed in the long form only. */
import t, { type Test } from 'tap'
import type { Database } from '../../../engine/plugin.ts'
import { fundsOfSecret } from '../../../plugins/account/funds.ts'
import { Credentials } from '../../../plugins/credentials/credentials.ts'
import { isWellFormed, makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey } from '../../../plugins/credentials/statements.ts'
import { openAccounts } from '../../helpers/accounts.ts'
import { LONG } from '../../helpers/long.ts'
import { makeLedger } from '../../helpers/membership.ts'
import { createChance } from '../../helpers/seeded.ts'
import { differenceOf } from '../../helpers/welch.ts'

/** Of each of the two. */
const SAMPLES = 100_000
const GUESSES = 50
/** Of a key's 43 digits. */
const FIRST = 62n ** 42n

/** With its check digits, so that it is looked up. */
const keyOf = (number: bigint) =>
  makeSecret('key', Buffer.from(number.toString(16).padStart(64, '0'), 'hex'))
const digits = Array.from({ length: 43 }, (_, at) => BigInt((at * 7 + 5) % 62))
const middle = digits.reduce((sum, digit) => sum * 62n + digit) % FIRST
const real = keyOf(55n * FIRST + middle)
const guesses = (kind: (at: bigint) => bigint): readonly Buffer[] =>
  Array.from({ length: GUESSES }, (_, at) => Buffer.from(keyOf(kind(BigInt(at))).text))
const atFirst = guesses(at => at * FIRST + middle)
const butLast = middle - (middle % 62n)
const atLast = guesses(at => 55n * FIRST + butLast + ((middle + 1n + at) % 62n))

t.test('the guesses are what they should be', async t => {
  const body = (text: string | Buffer): string => text.toString().slice(3, -6)
  for (const guess of atFirst) {
    t.equal(body(guess).slice(1), body(real.text).slice(1))
    t.not(body(guess)[0], body(real.text)[0])
  }
  for (const guess of atLast) {
    t.equal(body(guess).slice(0, -1), body(real.text).slice(0, -1))
    t.not(body(guess).at(-1), body(real.text).at(-1))
  }
  for (const guess of [...atFirst, ...atLast]) t.ok(isWellFormed(guess.toString()))
})

/** The two in turns, each round in another order. `begin` readies whoever is asked for one round of all guesses. */
const timed = async (
  begin: () => Promise<(presented: string) => Promise<unknown>>,
): Promise<number> => {
  const kinds = [atFirst, atLast].map(all => ({ all, took: new Float64Array(SAMPLES) }))
  const chance = createChance()
  for (let sample = 0; sample < SAMPLES; ) {
    const look = await begin()
    for (let at = 0; at < GUESSES; at++, sample++)
      for (const { all, took } of chance() < 0.5 ? kinds : kinds.toReversed()) {
        // As it comes with a request: nobody has made a hash of it yet.
        const presented = (all[at] as Buffer).toString('latin1')
        const began = performance.now()
        await look(presented)
        took[sample] = performance.now() - began
      }
  }
  const [first, last] = kinds.map(({ took }) => took)
  return differenceOf(first as Float64Array, last as Float64Array)
}

const MOST = 4.5
const within = (t: Test, difference: number): void => {
  t.ok(Math.abs(difference) < MOST, `|t| is ${Math.abs(difference).toFixed(2)}`)
}
t.test('a look-up', { skip: !LONG && 'LONG=1' }, async t => {
  const { database, account } = await openAccounts(t)
  await makeLedger(database)
  const ann = await account('ann')
  await database.write(addKey({ account: ann, name: 'real', secret: real }, Date.now()))
  let reads = 0
  const read: Database['read'] = (asked, values) => {
    reads++
    return database.read(asked, values)
  }
  const store = { ...database, read }

  await t.test('of whoever calls', async t => {
    const difference = await timed(async () => {
      // A guess is remembered: each round begins with nobody known but the owner.
      const credentials = new Credentials(store, () => 0)
      const { account } = await credentials.find(real.text, 'key')
      if (!account) throw new Error('the key itself is not known')
      return presented => credentials.find(presented, 'key')
    })
    t.ok(reads > 2 * SAMPLES, 'each was looked up in the store')
    within(t, difference)
  })
  await t.test('of a balance', async t => {
    t.ok(await fundsOfSecret(store, real.text))
    reads = 0
    within(t, await timed(async () => presented => fundsOfSecret(store, presented)))
    t.equal(reads, 2 * SAMPLES)
  })
  await t.test('one that compares from the left gives itself away', async t => {
    const { text } = real
    const nearness = async (presented: string): Promise<number> => {
      let at = 0
      while (at < text.length && presented[at] === text[at]) at++
      return at
    }
    const difference = await timed(async () => nearness)
    t.ok(Math.abs(difference) > MOST, `|t| is ${Math.abs(difference).toFixed(2)}`)
  })
})
