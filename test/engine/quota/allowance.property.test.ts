/** Exactly N units in every order of messages, with workers that crash, are slow or drop slices. */
import t, { type Test } from 'tap'
import type { Supply } from '../../../engine/plugin.ts'
import {
  histories,
  Machine,
  play,
  type Step,
  sum,
  type Used,
} from '../../helpers/allowance-machine.ts'
import { scaled } from '../../helpers/long.ts'
import fc from '../../helpers/property.ts'

const numRuns = scaled(60, 4_000)
const workers = fc.integer({ min: 2, max: 4 })
const KEYS = ['a', 'b', 'c', 'd']

/** Checks a property over random histories; a throw inside is a counterexample. */
const always = async (
  t: Test,
  weights: Parameters<typeof histories>[0],
  check: (machine: Machine, history: readonly Step[]) => Promise<void>,
) => {
  const property = fc.asyncProperty(workers, histories(weights), (count, history) =>
    check(new Machine(count), history),
  )
  await t.resolves(fc.assert(property, { numRuns }), `${numRuns} histories`)
}
const same = (found: bigint, wanted: bigint, what: string) => {
  if (found !== wanted) throw new Error(`${what}: ${found}, not ${wanted}`)
}
const most = (found: bigint, limit: bigint, what: string) => {
  if (found > limit) throw new Error(`${what}: ${found} of ${limit}`)
}

const held = (amount: bigint): Supply => ({ held: { amount } })
const MS = 100
const window = (amount: bigint): Supply => ({ window: { amount, ms: MS } })

t.test('held: never more than N at once, and no unit is lost', async t => {
  await always(t, { use: 8, deliver: 12, give: 5, kill: 1 }, async (machine, history) => {
    await play(machine, history, held, ({ key }) =>
      most(machine.inUse(key), 20n, `in use of ${key}`),
    )
    for (const key of KEYS)
      same(machine.inUse(key) + (await machine.exhaust(key, held(20n))), 20n, `all of ${key}`)
  })
})

t.test('held: a changed amount applies at once and keeps the count', async t => {
  await always(t, { use: 8, deliver: 12, give: 5, limit: 2 }, async (machine, history) => {
    const limit = await play(machine, history, held, ({ key }) =>
      most(machine.inUse(key), 40n, key),
    )
    for (const key of KEYS) {
      const used = machine.inUse(key)
      const more = limit > used ? limit - used : 0n
      same(await machine.exhaust(key, held(limit)), more, `left of ${key} at ${limit}`)
    }
  })
})

t.test('window: never more than N in any window, N again in the next', async t => {
  await always(t, { use: 10, deliver: 14, pass: 2, kill: 1 }, async (machine, history) => {
    const admitted: Used[] = []
    await play(machine, history, window, used => void admitted.push(used))
    for (const key of KEYS) {
      const own = admitted.filter(used => used.key === key)
      let counted = 0n
      for (const since of machine.begun.get(key) ?? []) {
        const within = sum(own.filter(({ at }) => at >= since && at < since + MS))
        most(within, 20n, `window of ${key} at ${since}`)
        counted += within
      }
      same(counted, sum(own), `every admission of ${key} in one window`)
      machine.clock += MS
      same(await machine.exhaust(key, window(20n)), 20n, `a fresh window of ${key}`)
    }
  })
})

t.test('window: no unit of a window is lost, at any amount', async t => {
  await always(t, { use: 10, deliver: 14, limit: 1 }, async (machine, history) => {
    const limit = await play(machine, history, window, ({ key }) =>
      most(machine.inUse(key), 40n, key),
    )
    for (const key of KEYS) {
      const used = machine.inUse(key)
      const more = limit > used ? limit - used : 0n
      same(await machine.exhaust(key, window(limit)), more, `left of ${key} at ${limit}`)
    }
  })
})
