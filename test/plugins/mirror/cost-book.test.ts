/** The cost of copies on both stores: reservations of a window, which several processes share;
 *  corrections; sums of days; and when two answers are alike. */
import t from 'tap'
import type { Answer } from '../../../plugins/formats/hub/answer.ts'
import { areAlike, factsOfAnswer } from '../../../plugins/mirror/answer-facts.ts'
import {
  addToDay,
  correct,
  DAY,
  type MirrorSums,
  migrations,
  readReport,
  reserve,
} from '../../../plugins/mirror/tables.ts'
import { startBoth } from '../../helpers/store/store.ts'

const WINDOW = { model: 'm', begins: 0 }
const SUMS: MirrorSums = {
  calls: 1,
  first_failed: 0,
  failed: 1,
  first_ms: 10,
  ms: 20,
  first_input: 1,
  first_output: 2,
  input: 3,
  output: 4,
  first_cost: 5n,
  cost: 6n,
  compared: 1,
  agreed: 0,
}

for (const { engine, database } of await startBoth(t, []))
  t.test(`mirror on ${engine}: of many at once, a window takes what fits`, async t => {
    await database.migrate('mirror', migrations)
    const take = (amount: bigint) =>
      database.write(reserve(WINDOW, amount, 100n)).then(
        () => true,
        (error: { readonly code?: string }) => error.code,
      )
    const results = await Promise.all(Array.from({ length: 8 }, () => take(30n)))
    t.equal(results.filter(each => each === true).length, 3)
    t.equal(results.filter(each => each === 'MIRROR_SPENT').length, 5)
    await database.write([correct(WINDOW, -20n)])
    t.equal(await take(30n), true, 'a copy that cost less gives the rest back')
    await database.write([correct(WINDOW, 5n)])
    t.equal(await take(0n), 'MIRROR_SPENT', 'nothing is left')
    t.equal(await database.write(reserve({ model: 'm', begins: 1 }, 30n, 100n)).then(() => 1), 1)

    const place = { model: 'm', target: 'a/b' }
    await database.write([
      addToDay(DAY, place, SUMS),
      addToDay(DAY + 1, place, SUMS),
      addToDay(2 * DAY, place, SUMS),
      addToDay(DAY, { ...place, target: 'a/c' }, SUMS),
    ])
    const [first, second] = await readReport(database, 1, 1)
    t.match(first, { model: 'm', target: 'a/b', calls: 2, failed: 2, ms: 40, cost: 12 })
    t.match(second, { target: 'a/c', calls: 1 })
    t.same(await readReport(database, 3, 9), [])
  })

const answerOf = (text: string, ...inputs: readonly string[]): Answer => ({
  choices: [
    {
      content: [
        { type: 'text', text },
        ...inputs.map(input => ({ type: 'call', id: input, name: 'f', input }) as const),
      ],
      stop: { reason: 'end' },
    },
  ],
})
t.test('mirror: answers are alike by their calls and the lengths of their texts', async t => {
  const alike = (one: Answer, other: Answer) => areAlike(factsOfAnswer(one), factsOfAnswer(other))
  t.ok(alike(answerOf('12345'), answerOf('1234567890')))
  t.notOk(alike(answerOf('12345'), answerOf('12345678901')))
  t.ok(alike(answerOf(''), answerOf('')))
  t.notOk(alike(answerOf(''), answerOf('1')))
  t.ok(
    alike(
      answerOf('', '{"a":1,"b":[{"c":2,"d":3}]}'),
      answerOf('', '{ "b": [{"d":3,"c":2}], "a": 1 }'),
    ),
  )
  t.notOk(alike(answerOf('', '{"a":1}'), answerOf('', '{"a":2}')))
  t.notOk(alike(answerOf('', '{"a":1}'), answerOf('')))
  t.ok(alike(answerOf('', 'cut {'), answerOf('', 'cut {')))
})
