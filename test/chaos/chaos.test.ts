/** Workers, writer, primary, all of them and the store are killed under load; every reply is paid for once, every low balance
 *  told of. The long form is `npm run test:chaos -- --kills 1000 --store postgres`. */
import t from 'tap'
import { scaled } from '../helpers/long.ts'
import { seed } from '../helpers/seeded.ts'
import { runChaos } from './chaos.ts'
import { STORES, type StoreName } from './stores.ts'

t.setTimeout(1_200_000)
// Both wait more than they work.
t.test('kills of any process', { jobs: 2 }, async t => {
  for (const store of Object.keys(STORES) as StoreName[])
    t.test(`${store}: killed at random instants`, async t => {
      const kills = scaled(6, 100)
      const outcome = await runChaos({
        store,
        kills,
        seed: seed(),
        within: 500,
        clients: scaled(6, 12),
      })
      t.same(outcome.violations, [])
      t.equal(outcome.unpaid, 0, 'every word that arrived is paid for')
      t.ok(outcome.complete > kills, 'replies came whole between the kills')
      t.ok(Object.keys(outcome.kills).length > 3)
      t.ok(outcome.crossed > 0)
      t.comment(JSON.stringify(outcome, (_, value) => value))
    })
})
