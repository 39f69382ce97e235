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
const checkHistories = async (
  t: Test,
  weights: Parameters<typeof histories>[0],
  check: (machine: Machine, history: readonly Step[]) => Promise<void>,
) => {
  const property = fc.asyncProperty(workers, histories(weights), (count, history) =>
    check(new Machine(count), history),
  )
  await t.resolves(fc.assert(property, { numRuns }), `${numRuns} histories`)
}
const assertEqual = (actual: bigint, expected: bigint, what: string) => {
  if (actual !== expected) throw new Error(`${what}: ${actual}, not ${expected}`)
}
const assertAtMost = (actual: bigint, limit: bigint, what: string) => {
  if (actual > limit) throw new Error(`${what}: ${actual} of ${limit}`)
}

const concurrency = (amount: bigint): Supply => ({ concurrency: { amount } })
const MS = 100
const window = (amount: bigint): Supply => ({ window: { amount, ms: MS } })

t.test('concurrency: never more than N at once, and no unit is lost', async t => {
  await checkHistories(t, { use: 8, deliver: 12, give: 5, kill: 1 }, async (machine, history) => {
    await play(machine, history, concurrency, ({ key }) =>
      assertAtMost(machine.inUse(key), 20n, `in use of ${key}`),
    )
    for (const key of KEYS)
      assertEqual(
        machine.inUse(key) + (await machine.exhaust(key, concurrency(20n))),
        20n,
        `all of ${key}`,
      )
  })
})

t.test('concurrency: a changed amount applies at once and keeps the count', async t => {
  await checkHistories(t, { use: 8, deliver: 12, give: 5, limit: 2 }, async (machine, history) => {
    const limit = await play(machine, history, concurrency, ({ key }) =>
      assertAtMost(machine.inUse(key), 40n, key),
    )
    for (const key of KEYS) {
      const inUse = machine.inUse(key)
      const more = limit > inUse ? limit - inUse : 0n
      assertEqual(
        await machine.exhaust(key, concurrency(limit)),
        more,
        `left of ${key} at ${limit}`,
      )
    }
  })
})

t.test('window: never more than N in any window, N again in the next', async t => {
  await checkHistories(t, { use: 10, deliver: 14, pass: 2, kill: 1 }, async (machine, history) => {
    const admissions: Used[] = []
    await play(machine, history, window, admission => void admissions.push(admission))
    for (const key of KEYS) {
      const own = admissions.filter(admission => admission.key === key)
      let total = 0n
      for (const since of machine.begun.get(key) ?? []) {
        const within = sum(own.filter(({ at }) => at >= since && at < since + MS))
        assertAtMost(within, 20n, `window of ${key} at ${since}`)
        total += within
      }
      assertEqual(total, sum(own), `every admission of ${key} in one window`)
      machine.clock += MS
      assertEqual(await machine.exhaust(key, window(20n)), 20n, `a fresh window of ${key}`)
    }
  })
})

t.test('window: no unit of a window is lost, at any amount', async t => {
  await checkHistories(t, { use: 10, deliver: 14, limit: 1 }, async (machine, history) => {
    const limit = await play(machine, history, window, ({ key }) =>
      assertAtMost(machine.inUse(key), 40n, key),
    )
    for (const key of KEYS) {
      const inUse = machine.inUse(key)
      const more = limit > inUse ? limit - inUse : 0n
      assertEqual(await machine.exhaust(key, window(limit)), more, `left of ${key} at ${limit}`)
    }
  })
})
