/** The duration of a lookup does not reveal how near a guess is: a guess that differs from a key in
 *  its first digit takes as long as one that differs in its last digit. Runs in the long form
 *  only. */
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

/** Measurements of each of the two kinds of guesses. */
const SAMPLES = 100_000
const GUESSES = 50
/** The value of the first of a key's 43 digits. */
const FIRST = 62n ** 42n

/** A key with valid check digits, so that it is looked up. */
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

t.test('timing guesses: differ from the key in the first or the last digit only', async t => {
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

/** Measures both kinds of guesses alternately, each round in random order. `begin` prepares one
 *  round of all guesses. Returns Welch's t. */
const measureDifference = async (
  begin: () => Promise<(guess: string) => Promise<unknown>>,
): Promise<number> => {
  const kinds = [atFirst, atLast].map(all => ({ all, took: new Float64Array(SAMPLES) }))
  const chance = createChance()
  for (let sample = 0; sample < SAMPLES; ) {
    const lookUp = await begin()
    for (let at = 0; at < GUESSES; at++, sample++)
      for (const { all, took } of chance() < 0.5 ? kinds : kinds.toReversed()) {
        // A new string without a cached hash, as in a request.
        const guess = (all[at] as Buffer).toString('latin1')
        const began = performance.now()
        await lookUp(guess)
        took[sample] = performance.now() - began
      }
  }
  const [first, last] = kinds.map(({ took }) => took)
  return differenceOf(first as Float64Array, last as Float64Array)
}

const MAX_T = 4.5
const assertSmall = (t: Test, difference: number): void => {
  t.ok(Math.abs(difference) < MAX_T, `|t| is ${Math.abs(difference).toFixed(2)}`)
}
t.test(
  'lookup timing: is independent of the position of the wrong digit',
  { skip: !LONG && 'LONG=1' },
  async t => {
    const { database, account } = await openAccounts(t)
    await makeLedger(database)
    const ann = await account('ann')
    await database.write(addKey({ account: ann, name: 'real', secret: real }, Date.now()))
    let reads = 0
    const read: Database['read'] = (sql, values) => {
      reads++
      return database.read(sql, values)
    }
    const store = { ...database, read }

    await t.test('credential lookup: no measurable difference', async t => {
      const difference = await measureDifference(async () => {
        // Guesses are cached, so each round begins with a cache that has only the real key.
        const credentials = new Credentials(store, () => 0)
        const { account } = await credentials.find(real.text, 'key')
        if (!account) throw new Error('the real key is unknown')
        return guess => credentials.find(guess, 'key')
      })
      t.ok(reads > 2 * SAMPLES, 'every guess was read from the store')
      assertSmall(t, difference)
    })
    await t.test('balance lookup: no measurable difference', async t => {
      t.ok(await fundsOfSecret(store, real.text))
      reads = 0
      assertSmall(t, await measureDifference(async () => guess => fundsOfSecret(store, guess)))
      t.equal(reads, 2 * SAMPLES)
    })
    await t.test('comparison from the left: the measurement finds the difference', async t => {
      const { text } = real
      const nearness = async (guess: string): Promise<number> => {
        let at = 0
        while (at < text.length && guess[at] === text[at]) at++
        return at
      }
      const difference = await measureDifference(async () => nearness)
      t.ok(Math.abs(difference) > MAX_T, `|t| is ${Math.abs(difference).toFixed(2)}`)
    })
  },
)
