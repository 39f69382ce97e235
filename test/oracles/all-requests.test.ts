/** 600 requests drawn by a seed, and all recorded ones, of each client format to each kind of
 *  target: no provider refuses what reaches it. */
import t from 'tap'
import { CLIENTS } from './cells.ts'
import { EXCEPTIONS } from './exceptions.ts'
import { oddValues } from './odd-values.ts'
import { recordedRequests } from './recorded.ts'
import { render } from './render/render.ts'
import { scenarioOf } from './scenarios.ts'
import { report, type Walk, walk } from './walk.ts'

const SCENARIOS = 600
const scenarioRequests = Array.from({ length: SCENARIOS }, (_, index) =>
  CLIENTS.map(client => render(client, scenarioOf(index), `scenario ${index}`)),
).flat()
const skip = recordedRequests.length === 0 && 'RECORDINGS is not set'
const walks: Walk[] = []
const walkAll = async (requests: Parameters<typeof walk>[0]): Promise<Walk> => {
  const result = await walk(requests)
  walks.push(result)
  return result
}

t.test('drawn requests: no provider refuses them', async t =>
  report(t, await walkAll(scenarioRequests)),
)
t.test('odd values: no provider refuses them', async t =>
  report(t, await walkAll(CLIENTS.flatMap(oddValues))),
)
t.test('recorded requests: no provider refuses them', { skip }, async t =>
  report(t, await walkAll(recordedRequests)),
)
t.test('exceptions: each still occurs', { skip }, t => {
  for (const exception of EXCEPTIONS)
    t.ok(
      walks.some(({ used }) => used.has(exception)),
      `${exception.rule}: ${exception.reason}`,
    )
  t.end()
})
