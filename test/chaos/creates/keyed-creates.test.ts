/** Requests with an Idempotency-Key while their store is killed, locked, frozen and restarted. The
 *  long form is `node test/chaos/creates/keyed-creates.ts --requests 3000 --store postgres`. */
import t from 'tap'
import { seed, shortOrLong } from '../../helpers/run-settings.ts'
import { keyedRoutes } from './configuration.ts'
import { runKeyedCreates } from './keyed-creates.ts'
import type { Preparation } from './kind.ts'
import { createKinds, SAME_ROUTES, WITHOUT_KIND } from './kinds.ts'

t.setTimeout(3_600_000)
const PREPARATION: Preparation = { token: '', send: async () => ({}) }

t.test('kinds of creates: each route that takes an Idempotency-Key is of one', async t => {
  const routes = new Map(keyedRoutes().map(route => [route.name, route]))
  t.ok(routes.size > 80)
  const kinds = await createKinds(PREPARATION)
  const covered = new Set(kinds.map(({ route }) => route))
  for (const name of routes.keys())
    t.ok(covered.has(name) || name in SAME_ROUTES || name in WITHOUT_KIND, `${name} has a kind`)
  for (const name of [...covered, ...Object.keys({ ...SAME_ROUTES, ...WITHOUT_KIND })])
    t.ok(routes.has(name), `${name} is a route that takes a key`)
  for (const [name, same] of Object.entries(SAME_ROUTES)) {
    t.ok(covered.has(same), same)
    t.same(
      routes.get(name)?.options,
      routes.get(same)?.options,
      `${name} has the options of ${same}`,
    )
  }
})

for (const store of ['sqlite', 'postgres'] as const)
  t.test(`Idempotency-Key (${store}): each request happens once while the store fails`, async t => {
    const requests = shortOrLong(60, 3_000)
    const outcome = await runKeyedCreates({ store, requests, seed: seed() })
    t.same(outcome.violations, [])
    t.ok(outcome.replayed > 0, 'answers were repeated')
    t.comment(JSON.stringify(outcome))
  })
