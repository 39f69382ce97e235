/** Kills of any process while tasks run: one upstream create an intent, one final state, one
 *  closed hold. The long form is `node test/chaos/tasks/task-kills.ts --kills 300 --store
 *  postgres --gateways 2`. */
import t from 'tap'
import { scaled } from '../../helpers/machine-speed.ts'
import { seed, shortOrLong } from '../../helpers/run-settings.ts'
import { STORES, type StoreName } from '../stores.ts'
import { runTaskKills } from './task-kills.ts'

t.setTimeout(scaled(1_200_000))
t.test(
  'tasks: kills of any process create nothing twice and lose no hold',
  { jobs: 2 },
  async t => {
    for (const store of Object.keys(STORES) as StoreName[])
      t.test(`${store}: processes killed at random instants`, async t => {
        const kills = shortOrLong(5, 100)
        const gateways = store === 'sqlite' ? 1 : 2
        const outcome = await runTaskKills({ store, kills, seed: seed(), gateways, within: 500 })
        t.same(outcome.violations, [])
        t.ok((outcome.states.succeeded ?? 0) > kills, 'tasks succeeded between the kills')
        t.ok(outcome.acknowledged > kills && outcome.batches > 0)
        t.ok(outcome.images > 0 && outcome.copies > 0, 'tasks carried images, and were copied')
        t.ok(outcome.secrets > 1, 'a key was rotated')
        t.comment(JSON.stringify(outcome))
      })
  },
)
