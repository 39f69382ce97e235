/** A few kills of any process under load, on both databases; `chaos.test.ts` has more. */
import t from 'tap'
import { scaled } from '../helpers/machine-speed.ts'
import { seed } from '../helpers/run-settings.ts'
import { runChaos } from './chaos.ts'
import { STORES, type StoreName } from './stores.ts'

t.setTimeout(scaled(300_000))
for (const store of Object.keys(STORES) as StoreName[])
  t.test(`few kills: ${store} loses no charge and no event`, async t => {
    const outcome = await runChaos({ store, kills: 2, seed: seed(), within: 500, clients: 3 })
    t.same(outcome.violations, [])
    t.equal(outcome.unpaidWords, 0, 'every delivered word is charged')
    t.ok(outcome.complete > 2, 'replies completed between the kills')
    t.ok(outcome.answers.hits > 0, 'answers came from the cache')
    t.comment(JSON.stringify(outcome, (_, value) => value))
  })
