/** More work than one process can do: some is turned away at once, the rest is served, and nothing breaks. */
import { Agent } from 'node:http'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually, folderWith, getAlone, type Primary, startPrimary } from '../helpers/primary.ts'

const PATIENCE = 60_000

/** Each asks again as soon as it has its answer, on a connection that is there already. Ends after `ms`, once the answer
 *  that is wanted has come. */
const press = async ({ url }: Primary, clients: number, ms: number, wanted = 200) => {
  const counts = new Map<number, number>()
  const agent = new Agent({ keepAlive: true })
  const all = Array.from({ length: clients })
  await Promise.all(all.map(() => getAlone(`${url}/stamp`, agent)))
  const since = performance.now()
  // On a busy machine it may take a while until there is too much to do.
  const over = () => performance.now() - since >= (counts.has(wanted) ? ms : PATIENCE)
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

t.test('far more clients than it can serve', async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  const peak = await press(primary, 8, scaled(300, 60_000))
  t.same([...peak.keys()], [200])
  const over = await press(primary, 150, scaled(1_500, 60_000), 503)
  t.comment(
    `${peak.get(200)} served at capacity, ${over.get(200)} beyond it, ${over.get(503)} turned away`,
  )
  t.ok(over.get(200), 'some are served')
  t.ok(over.get(503), 'and some turned away')
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
