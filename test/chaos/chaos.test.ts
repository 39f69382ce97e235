/** Kills of workers, writer, primary, all processes and the store under load: every reply is
 *  charged once, and every low balance has its event. The long form is `npm run test:chaos --
 *  --kills 1000 --store postgres`. */
import t from 'tap'
import { scaled } from '../helpers/machine-speed.ts'
import { LONG, seed, shortOrLong } from '../helpers/run-settings.ts'
import { runChaos } from './chaos.ts'
import { STORES, type StoreName } from './stores.ts'

t.setTimeout(scaled(1_200_000))
// Both stores spend more time waiting than working.
t.test('chaos: kills of any process lose no charge and no event', { jobs: 2 }, async t => {
  for (const store of Object.keys(STORES) as StoreName[])
    t.test(`${store}: processes killed at random instants`, async t => {
      const kills = shortOrLong(6, 100)
      const outcome = await runChaos({
        store,
        kills,
        seed: seed(),
        gateways: store === 'postgres' ? 2 : 1,
        within: 500,
        clients: shortOrLong(6, 12),
      })
      t.same(outcome.violations, [])
      t.equal(outcome.unpaidWords, 0, 'every delivered word is charged')
      t.ok(outcome.complete > kills, 'replies completed between the kills')
      t.ok(Object.keys(outcome.kills).length > 3)
      t.ok(outcome.lowBalances > 0)
      const { hits, similarHits, blocked, copies, canaryAnswers } = outcome.answers
      const counts = [hits, similarHits, blocked, copies, canaryAnswers]
      // The short form has few answers of each kind.
      t.ok(LONG ? Math.min(...counts) > 0 : Math.max(...counts) > 0)
      t.comment(JSON.stringify(outcome, (_, value) => value))
    })
})
