/** Background jobs continue on another process when their process, gateway or machine fails. The
 *  delay is reported, not asserted. */
import t, { type Test } from 'tap'
import { eventually } from '../helpers/gateway/primary.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { createChance, LONG, shortOrLong } from '../helpers/run-settings.ts'
import { createTree, type Tree } from './gateway-tree.ts'
import { STORES, type StoreName, type StoreSetup } from './stores.ts'

t.setTimeout(scaled(LONG ? 1_200_000 : 240_000))
/** A plugin whose job repeatedly logs the process that runs it. */
const TICK = `export default {
  schema: {},
  setup(_, host) {
    host.job('tick', 20, async () => host.log.info({ tick: process.pid }, 'tick'))
    return { answers: true, handle: async exchange => void exchange.answer(200, {}) }
  },
}`
const ROUTES = `
pipeline: [tick]
routes:
  - { path: GET /tick, tick: {} }
`
const ROUNDS = shortOrLong(1, 5)
const chance = createChance()

const startTree = async (t: Test, { url }: StoreSetup): Promise<Tree> => {
  const tree = createTree(ROUTES, url, {}, { 'tick.ts': TICK })
  t.teardown(async () => {
    await tree.stop().catch(() => {})
    tree.remove()
  })
  await tree.start()
  return tree
}
interface Tick {
  readonly pid: number
  /** Milliseconds since 1970. */
  readonly at: number
}
const lastOf = (tree: Tree): Tick | undefined => {
  const lastLine = [...tree.output().matchAll(/^\{.*"tick":\d+.*\}$/gm)].at(-1)?.[0]
  if (lastLine === undefined) return undefined
  const { tick, time } = JSON.parse(lastLine) as { readonly tick: number; readonly time: string }
  return { pid: tick, at: new Date(time).getTime() }
}
/** Milliseconds from `harm` until a process other than `failedPid` runs the job in one of the
 *  gateways. */
const measure = async (
  trees: readonly Tree[],
  harm: () => Promise<void>,
  failedPid?: number,
): Promise<number> => {
  const from = Date.now()
  await harm()
  return eventually(() => {
    const ticks = trees.map(lastOf)
    const next = ticks.find(tick => tick && tick.at > from && tick.pid !== failedPid)
    return next && next.at - from
  })
}
const report = (t: Test, what: string, delays: readonly number[]): void => {
  const seconds = delays.map(ms => (ms / 1_000).toFixed(2)).join(', ')
  t.pass(`${what}: ${seconds} s`)
}

for (const store of Object.keys(STORES) as StoreName[]) {
  t.test(`background job (${store}): another process runs it after a worker is killed`, async t => {
    const setup = await STORES[store]()
    t.teardown(() => setup.end())
    const tree = await startTree(t, setup)
    const delays: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await tree.untilRecovered()
      const { pid } = await eventually(() => lastOf(tree))
      delays.push(await measure([tree], async () => void process.kill(pid, 'SIGKILL'), pid))
    }
    report(t, 'a worker', delays)
  })

  t.test(
    `background job (${store}): continues after a gateway is killed and restarted`,
    async t => {
      const setup = await STORES[store]()
      t.teardown(() => setup.end())
      const tree = await startTree(t, setup)
      const delays: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const { pid } = await eventually(() => lastOf(tree))
        const harm = async (): Promise<void> => {
          await tree.kill('all', chance)
          await tree.start()
        }
        delays.push(await measure([tree], harm, pid))
      }
      report(t, 'a restart', delays)
    },
  )
}

t.test('background job (postgres): another gateway runs it after a kill or a freeze', async t => {
  const setup = await STORES.postgres()
  t.teardown(() => setup.end())
  const trees = [await startTree(t, setup), await startTree(t, setup)]
  const activeGateway = (): Promise<Tree> =>
    eventually(() => trees.find(tree => (lastOf(tree)?.at ?? 0) > Date.now() - 200))
  const delays: { gateway: number[]; machine: number[] } = { gateway: [], machine: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const killedTree = await activeGateway()
    const others = trees.filter(tree => tree !== killedTree)
    delays.gateway.push(await measure(others, () => killedTree.kill('all', chance)))
    await killedTree.start()
    const frozenTree = await activeGateway()
    const otherTrees = trees.filter(tree => tree !== frozenTree)
    delays.machine.push(await measure(otherTrees, async () => void frozenTree.signal('SIGSTOP')))
    frozenTree.signal('SIGCONT')
    await frozenTree.untilRecovered()
  }
  report(t, 'a gateway', delays.gateway)
  report(t, 'a machine', delays.machine)
})
