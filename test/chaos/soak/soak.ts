/** A soak under mixed load: kills and reloads for the first third, then reloads alone. The memory
 *  of the whole gateway must stay flat, and the books must balance at the end: `npm run test:soak
 *  -- --minutes 120 --store sqlite`. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { findRunning } from '../../../engine/processes/running-gateway.ts'
import { proportionalOf } from '../../helpers/process-tree.ts'
import { afterWarmUp, type Sample, theilSen } from '../../helpers/trend.ts'
import { runChaos } from '../chaos.ts'
import type { Tree } from '../gateway-tree.ts'
import { STORES, type StoreName } from '../stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const MIB = 2 ** 20
/** Milliseconds between two reloads. */
const EDIT = 10_000
/** Growth of the whole tree over the judged part, as a part of its size. */
const MOST_GROWTH = 0.1

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Calls that bill nothing; a killed gateway answers none of them. */
const askUnbilled = async (url: string, number: number): Promise<void> => {
  const chat = `${url}/v1/chat/completions`
  const post = (body: string, key: string) =>
    fetch(chat, { method: 'POST', body, headers: { authorization: `Bearer ${key}` } })
  const calls = [
    () => fetch(`${url}/nowhere/${number}`),
    () => post('{"broken', 'sk-unknown'),
    () => post('{"model":"absent","messages":[]}', `sk-wrong-${number}`),
    () => fetch(`${url}/api/usage`),
    () => fetch(chat, { headers: { upgrade: 'none', 'x-long': 'x'.repeat(4_000) } }),
  ]
  for (const call of calls) await (await call()).arrayBuffer()
}

/** Edits the routes. Without kills every third edit is invalid and must not take effect; a gateway
 *  that starts refuses it. */
const edit = (file: string, original: string, number: number, hasKills: boolean): void =>
  number % 3 === 2 && !hasKills
    ? appendFileSync(file, '\n  - [broken')
    : writeFileSync(file, `${original}  - { path: 'GET /edit-${number}', account: usage }\n`)

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '120' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
    },
  })
  if (!Object.hasOwn(STORES, values.store))
    throw new Error(`--store ${Object.keys(STORES).join(' | ')}`)
  const milliseconds = Number(values.minutes) * MINUTE
  const startedAt = performance.now()
  const print = (line: string): void =>
    void process.stdout.write(`${((performance.now() - startedAt) / 1_000).toFixed(0)} s ${line}\n`)
  const samples: Sample[] = []
  let [hasKills, edits] = [true, 0]
  const beside = async (tree: Tree, afterKills: Promise<void>): Promise<void> => {
    void afterKills.then(() => {
      hasKills = false
    })
    const file = join(dirname(tree.data), 'routes.yaml')
    const original = readFileSync(file, 'utf8')
    while (performance.now() - startedAt < milliseconds || hasKills) {
      edit(file, original, edits++, hasKills)
      await pause(EDIT)
      await askUnbilled(tree.url(), edits).catch(() => {})
      const pid = findRunning(tree.data)?.pid
      if (hasKills || pid === undefined) continue
      samples.push([performance.now(), proportionalOf(pid)])
      if (samples.length % 30 === 1)
        print(`${((samples.at(-1)?.[1] ?? 0) / MIB).toFixed(0)} MiB after ${edits} edits`)
    }
    writeFileSync(file, original)
    await pause(2_000)
  }
  // A kill every two to three seconds in the first third of the time.
  const kills = Math.max(1, Math.round(milliseconds / 3 / 3_000))
  const outcome = await runChaos({
    store: values.store as StoreName,
    kills,
    seed: Number(values.seed),
    within: 3_000,
    clients: 24,
    beside,
    report: line => /^kill/.test(line) || print(line),
  })
  const judged = afterWarmUp(samples, milliseconds / 10)
  const [first = 0, last = 0] = [judged[0]?.[1], judged.at(-1)?.[1]]
  const perHour = theilSen(judged) * HOUR
  const span = (judged.at(-1)?.[0] ?? 0) - (judged[0]?.[0] ?? 0)
  const grows = (perHour * span) / HOUR > first * MOST_GROWTH
  const { violations, complete, cutCalls, refusals, unpaidWords } = outcome
  for (const { invariant, subject, detail } of violations)
    print(`${invariant}: ${subject}: ${detail}`)
  print(`${kills} kills ${JSON.stringify(outcome.kills)}, ${edits} edits, ${values.store}`)
  print(`replies: ${complete} complete, ${cutCalls} cut, ${refusals} refused`)
  print(
    `memory: ${(first / MIB).toFixed(0)} MiB, at the end ${(last / MIB).toFixed(0)}, ` +
      `${(perHour / MIB).toFixed(1)} MiB/h over ${judged.length} samples: ${grows ? 'GROWS' : 'flat'}`,
  )
  print(`words delivered before a kill and not charged: ${unpaidWords}`)
  print(`violations: ${violations.length}`)
  process.exitCode = violations.length === 0 && !grows && judged.length > 1 ? 0 : 1
}
if (import.meta.main) await main()
