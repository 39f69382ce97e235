/** Requests drawn by a seed, and recorded ones, to some kinds of targets: no provider refuses what
 *  reaches it. `all-requests.test.ts` sends all of them to all targets. */
import t from 'tap'
import { CLIENTS } from './cells.ts'
import { oddValues } from './odd-values.ts'
import { recordedRequests } from './recorded.ts'
import { render } from './render/render.ts'
import { scenarioOf } from './scenarios.ts'
import { report, walk } from './walk.ts'

const SCENARIOS = 60
const scenarioRequests = Array.from({ length: SCENARIOS }, (_, index) =>
  CLIENTS.map(client => render(client, scenarioOf(index), `scenario ${index}`)),
).flat()

t.test('odd values: no provider refuses them', async t =>
  report(t, await walk(CLIENTS.flatMap(oddValues), 29)),
)
t.test('drawn requests: no provider refuses them', async t =>
  report(t, await walk(scenarioRequests, 5)),
)
t.test(
  'recorded requests: no provider refuses them',
  { skip: recordedRequests.length === 0 && 'RECORDINGS is not set' },
  async t => report(t, await walk(recordedRequests, 7)),
)
