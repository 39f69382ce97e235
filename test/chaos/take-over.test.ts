/** Background work goes on when the process that did it dies, with its gateway or with its machine.
 *  How long that takes is told, and nothing depends on it. */
import t, { type Test } from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually } from '../helpers/primary.ts'
import { createChance } from '../helpers/seeded.ts'
import { type Ground, STORES, type StoreName } from './stores.ts'
import { createTree, type Tree } from './tree.ts'

t.setTimeout(LONG ? 1_200_000 : 240_000)
/** A plugin whose job logs the process that runs it, again and again. */
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
const ROUNDS = scaled(1, 5)
const chance = createChance()

const startTree = async (t: Test, { url }: Ground): Promise<Tree> => {
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
  /** ms since 1970. */
  readonly at: number
}
const lastOf = (tree: Tree): Tick | undefined => {
  const found = [...tree.output().matchAll(/^\{.*"tick":\d+.*\}$/gm)].at(-1)?.[0]
  if (found === undefined) return undefined
  const { tick, time } = JSON.parse(found) as { readonly tick: number; readonly time: string }
  return { pid: tick, at: new Date(time).getTime() }
}
/** ms after `harm` until another process than `gone` did the work in one of these. */
const measure = async (
  trees: readonly Tree[],
  harm: () => Promise<void>,
  gone?: number,
): Promise<number> => {
  const from = Date.now()
  await harm()
  return eventually(() => {
    const ticks = trees.map(lastOf)
    const next = ticks.find(tick => tick && tick.at > from && tick.pid !== gone)
    return next && next.at - from
  })
}
const tell = (t: Test, what: string, taken: readonly number[]): void => {
  const seconds = taken.map(ms => (ms / 1_000).toFixed(2)).join(', ')
  t.pass(`${what}: ${seconds} s`)
}

for (const store of Object.keys(STORES) as StoreName[]) {
  t.test(`${store}: another process goes on when a worker dies`, async t => {
    const ground = await STORES[store]()
    t.teardown(() => ground.end())
    const tree = await startTree(t, ground)
    const taken: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await tree.recovered()
      const { pid } = await eventually(() => lastOf(tree))
      taken.push(await measure([tree], async () => void process.kill(pid, 'SIGKILL'), pid))
    }
    tell(t, 'a worker', taken)
  })

  t.test(`${store}: a gateway that is killed and started again goes on`, async t => {
    const ground = await STORES[store]()
    t.teardown(() => ground.end())
    const tree = await startTree(t, ground)
    const taken: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const { pid } = await eventually(() => lastOf(tree))
      const harm = async (): Promise<void> => {
        await tree.kill('all', chance)
        await tree.start()
      }
      taken.push(await measure([tree], harm, pid))
    }
    tell(t, 'a restart', taken)
  })
}

t.test(
  'postgres: another gateway goes on when one dies, or when its machine stands still',
  async t => {
    const ground = await STORES.postgres()
    t.teardown(() => ground.end())
    const trees = [await startTree(t, ground), await startTree(t, ground)]
    const working = (): Promise<Tree> =>
      eventually(() => trees.find(tree => (lastOf(tree)?.at ?? 0) > Date.now() - 200))
    const taken: { gateway: number[]; machine: number[] } = { gateway: [], machine: [] }
    for (let round = 0; round < ROUNDS; round++) {
      const dying = await working()
      const others = trees.filter(tree => tree !== dying)
      taken.gateway.push(await measure(others, () => dying.kill('all', chance)))
      await dying.start()
      const frozen = await working()
      const left = trees.filter(tree => tree !== frozen)
      taken.machine.push(await measure(left, async () => void frozen.signal('SIGSTOP')))
      frozen.signal('SIGCONT')
      await frozen.recovered()
    }
    tell(t, 'a gateway', taken.gateway)
    tell(t, 'a machine', taken.machine)
  },
)
