/** Requests with an Idempotency-Key while their store is killed, locked, frozen and restarted. The
 *  long form is `node test/chaos/creates/keyed-creates.ts --requests 3000 --store postgres`. */
import t from 'tap'
import { seed, shortOrLong } from '../../helpers/run-settings.ts'
import { runKeyedCreates } from './keyed-creates.ts'

t.setTimeout(3_600_000)
for (const store of ['sqlite', 'postgres'] as const)
  t.test(`Idempotency-Key (${store}): each request happens once while the store fails`, async t => {
    const requests = shortOrLong(60, 3_000)
    const outcome = await runKeyedCreates({ store, requests, seed: seed() })
    t.same(outcome.violations, [])
    t.ok(outcome.retried > 0, 'some requests were repeated')
    t.comment(JSON.stringify(outcome))
  })
