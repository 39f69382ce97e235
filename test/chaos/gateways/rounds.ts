/** Many kills, in rounds: each round has a store and gateways of its own, and its whole books are
 *  checked after its last kill. Several rounds run at once, because a kill is mostly waiting:
 *  `npm run test:chaos -- --kills 3000 --seed 1 --store postgres`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { type ChaosOptions, type Outcome, runChaos } from '../chaos.ts'
import { createReplicas } from '../failover/replicas.ts'
import { STORES } from '../stores.ts'

const SETUPS = { ...STORES, replicas: createReplicas }
type Store = keyof typeof SETUPS
/** A data folder belongs to one gateway: only these stores have several. */
const GATEWAYS: Readonly<Record<Store, number>> = { sqlite: 1, postgres: 2, replicas: 1 }
const PREBUILD = new URL('../../../program/release/prebuild.ts', import.meta.url)

interface Round {
  readonly seed: number
  readonly kills: number
}
/** Rounds of about `size` kills. A round is repeated by its seed and its number of kills. */
const roundsOf = (kills: number, size: number, seed: number): readonly Round[] => {
  const count = Math.max(1, Math.ceil(kills / size))
  const sizeOf = (index: number): number => Math.floor(((index + 1) * kills) / count)
  return Array.from({ length: count }, (_, index) => ({
    seed: seed + index,
    kills: sizeOf(index) - sizeOf(index - 1),
  }))
}

/** A start from prebuilt scripts takes half of the processor time of one from the sources. */
const prebuild = async (): Promise<void> => {
  const child = spawn(process.execPath, [PREBUILD.pathname], { stdio: 'inherit' })
  await once(child, 'exit')
}

const print = (line: string): void =>
  void process.stdout.write(`${(performance.now() / 1_000).toFixed(1)} s ${line}\n`)
const killsIn = ({ kills }: Outcome): number =>
  Object.values(kills).reduce((sum, count) => sum + count, 0)

/** Returns the number of kills and of violations. */
const runRound = async (
  { seed, kills }: Round,
  options: Omit<ChaosOptions, 'seed' | 'kills'>,
): Promise<{ readonly kills: number; readonly violations: number }> => {
  const tell = (line: string): void => print(`seed ${seed}: ${line}`)
  try {
    const outcome = await runChaos({ ...options, seed, kills, report: tell })
    const { violations, complete, cutCalls, refusals, lowBalances } = outcome
    for (const { invariant, subject, detail } of violations)
      tell(`${invariant}: ${subject}: ${detail}`)
    tell(
      `kills: ${killsIn(outcome)} of ${kills} ${JSON.stringify(outcome.kills)}, ${outcome.overlapping} during a recovery`,
    )
    tell(
      `replies: ${complete} complete, ${cutCalls} cut, ${refusals} refused; ${lowBalances} balances fell below their threshold`,
    )
    tell(`with cache, guards, copies and rules: ${JSON.stringify(outcome.answers)}`)
    tell(`longest times without a complete reply, ms: ${JSON.stringify(outcome.longestGaps)}`)
    tell(`words delivered before a kill and not charged: ${outcome.unpaidWords}`)
    tell(`calls of a gateway that stayed away, ended by another one: ${outcome.takenOver}`)
    tell(`violations: ${violations.length}`)
    return { kills: killsIn(outcome), violations: violations.length }
  } catch (error) {
    tell(`the round failed: ${error instanceof Error ? error.stack : error}`)
    return { kills: 0, violations: 1 }
  }
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '6' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
      gateways: { type: 'string' },
      round: { type: 'string', default: '150' },
      lanes: { type: 'string', default: '4' },
      clients: { type: 'string', default: '8' },
      within: { type: 'string', default: '500' },
      overlap: { type: 'string', default: '0.5' },
    },
  })
  if (!Object.hasOwn(SETUPS, values.store))
    throw new Error(`--store ${Object.keys(SETUPS).join(' | ')}`)
  const store = values.store as Store
  const options = {
    store: SETUPS[store],
    gateways: Number(values.gateways ?? GATEWAYS[store]),
    clients: Number(values.clients),
    within: Number(values.within),
    overlap: Number(values.overlap),
  }
  const waiting = [...roundsOf(Number(values.kills), Number(values.round), Number(values.seed))]
  const lanes = Math.min(Number(values.lanes), waiting.length)
  await prebuild()
  let [kills, violations] = [0, 0]
  const runLane = async (): Promise<void> => {
    for (let round = waiting.shift(); round; round = waiting.shift()) {
      const done = await runRound(round, options)
      kills += done.kills
      violations += done.violations
      print(`${kills} kills, ${violations} violations in all, ${store}`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, runLane))
  if (violations === 0)
    print(`95 % bound: fewer than ${(300 / kills).toFixed(2)} % of kills cause a violation (3/N)`)
  // Processes of a round that failed may be left: they end with this one.
  process.exit(violations === 0 ? 0 : 1)
}
process.setMaxListeners(0)
// The gateways of all rounds end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await main()
