/** Workers, writer, primary and all of them are killed under load; every reply is paid for once. The long form is
 *  `npm run test:chaos -- --kills 1000`. */
import t from 'tap'
import { scaled } from '../helpers/long.ts'
import { seed } from '../helpers/seeded.ts'
import { runChaos } from './chaos.ts'

t.setTimeout(1_200_000)
t.test('killed at random instants', async t => {
  const kills = scaled(6, 100)
  const outcome = await runChaos({ kills, seed: seed(), night: true, lag: 10_000, within: 500 })
  t.same(outcome.violations, [])
  t.ok(outcome.complete > kills, 'replies came whole between the kills')
  t.ok(Object.values(outcome.kills).every(count => count > 0))
  t.comment(JSON.stringify(outcome, (_, value) => value))
})
