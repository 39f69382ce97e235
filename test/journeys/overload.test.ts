/** More work than one process can do: some is turned away at once, the rest is served, and nothing breaks. */
import { Agent } from 'node:http'
import t from 'tap'
import { cpuOf } from '../bench/processes.ts'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually, folderWith, getAlone, type Primary, startPrimary } from '../helpers/primary.ts'

const PATIENCE = 10_000
/** Below this share of a processor the worker is not the one that is overloaded, and turns nobody away. */
const SHARE = 0.5

/** Each asks again as soon as it has its answer, on a connection that is there already. Ends after `ms`, once the answer
 *  that is wanted has come. */
const press = async ({ url }: Primary, clients: number, ms: number, wanted = 200) => {
  const counts = new Map<number, number>()
  const agent = new Agent({ keepAlive: true })
  const all = Array.from({ length: clients })
  await Promise.all(all.map(() => getAlone(`${url}/stamp`, agent)))
  const since = performance.now()
  const over = () => performance.now() - since >= (counts.has(wanted) ? ms : Math.max(ms, PATIENCE))
  const client = async () => {
    while (!over()) {
      const { status } = await getAlone(`${url}/fault?do=busy`, agent)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(all.map(client))
  agent.destroy()
  return counts
}

/** The share of a processor that the worker had meanwhile. */
const shareDuring = async (primary: Primary, run: () => Promise<unknown>): Promise<number> => {
  const [worker] = (await primary.config()).workers
  const used = () => cpuOf(worker?.pid ?? 0)
  const [before, since] = [used(), performance.now()]
  await run()
  return (1_000 * (used() - before)) / (performance.now() - since)
}

t.test('far more clients than it can serve', async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  const peak = await press(primary, 8, scaled(200, 60_000))
  t.same([...peak.keys()], [200])
  let over: ReadonlyMap<number, number> = new Map()
  const share = await shareDuring(primary, async () => {
    over = await press(primary, scaled(80, 150), scaled(500, 60_000), 503)
  })
  t.comment(
    `${peak.get(200)} served at capacity, ${over.get(200)} beyond it, ${over.get(503)} turned away`,
  )
  t.ok(over.get(200), 'some are served')
  t.ok(
    over.get(503) || share < SHARE,
    `and some turned away, at ${share.toFixed(2)} of a processor`,
  )
  t.same(
    [...over.keys()].filter(status => status !== 200 && status !== 503),
    [],
  )
  if (LONG) t.ok((over.get(200) ?? 0) >= 0.9 * (peak.get(200) ?? 0))
  await eventually(
    async () => (await getAlone(`${primary.url}/fault?do=busy`)).status === 200 || undefined,
  )
  t.notOk(primary.log().some(line => line.msg === 'a worker ended'))
})
