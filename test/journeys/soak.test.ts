/** Requests, aborted streams, errors and reloads for a long time: memory, files and listeners do
 *  not grow. */
import { readdirSync } from 'node:fs'
import t from 'tap'
import {
  folderWith,
  getAlone,
  type Primary,
  routes,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { createChance, LONG, seed, shortOrLong } from '../helpers/run-settings.ts'
import { afterWarmUp, type Sample, theilSen } from '../helpers/trend.ts'

const HOUR = 3_600_000
/** A night: `SOAK_HOURS=8 LONG=1 node test/journeys/soak.test.ts`. A minute:
 *  `SOAK_HOURS=0.0167`. */
const MS = process.env.SOAK_HOURS
  ? Number(process.env.SOAK_HOURS) * HOUR
  : shortOrLong(1_000, HOUR / 6)
/** Heaps and caches grow to their size first: one hour of a night, or a third of a shorter run. */
const WARM_UP = Math.min(HOUR, MS / 3)
/** Between two hundred and five hundred samples. */
const SAMPLE = Math.max(100, Math.min(MS / 200, 5_000), MS / 500)
/** MiB per hour. */
const BOUND = 1
/** With less than an hour of samples the slope shows the garbage collector's rhythm, so total
 *  growth counts. */
const GROWTH = 48
const CLIENTS = 12
/** The load, as a part of the capacity. */
const SHARE = 0.7

const chance = createChance()
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const abortStream = async (url: string) => {
  const controller = new AbortController()
  const response = await fetch(url, { signal: controller.signal })
  setTimeout(() => controller.abort(), chance() * 100)
  await response.text().catch(() => {})
}
const calls = ({ url }: Primary): readonly (() => Promise<unknown>)[] => [
  () => getAlone(`${url}/stamp`),
  () => fetch(`${url}/stamp`).then(each => each.text()),
  () => fetch(`${url}/events?count=5&every=10`).then(each => each.text()),
  () => abortStream(`${url}/events?count=1000&every=5`),
  () => getAlone(`${url}/nowhere`),
  () => fetch(`${url}/stamp`, { method: 'POST', body: '{"broken' }).then(each => each.text()),
]

/** Makes random calls for a time, with at least `gap` ms between calls of a client. Resolves to
 *  their number. */
const callRandomly = async (
  all: ReturnType<typeof calls>,
  ms: number,
  gap: number,
): Promise<number> => {
  const until = performance.now() + ms
  let count = 0
  const client = async () => {
    while (performance.now() < until) {
      const start = performance.now()
      await all[Math.floor(chance() * all.length)]?.()
      count++
      const rest = gap - (performance.now() - start)
      if (rest > 0) await pause(rest)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return count
}

/** Resident memory of each process, from its own metrics. */
const resident = async ({ admin }: Primary): Promise<ReadonlyMap<string, number>> => {
  const text = await (await fetch(`${admin}/metrics`)).text()
  const lines = text.matchAll(/^tollgate_resident_bytes\{process="([^"]+)"\} (\S+)$/gm)
  return new Map([...lines].map(([, name = '', bytes]) => [name, Number(bytes)]))
}
interface WorkerUse {
  readonly pid: number
  readonly resources: number
  readonly listeners: number
}
/** The resources and listeners of each idle worker. */
const useByWorker = async (
  { url }: Primary,
  pids: readonly number[],
): Promise<ReadonlyMap<number, WorkerUse>> => {
  const uses = new Map<number, WorkerUse>()
  while (uses.size < pids.length) {
    const use = JSON.parse((await getAlone(`${url}/fault`)).text) as WorkerUse
    uses.set(use.pid, use)
  }
  return uses
}

/** MiB per hour, and whether they are a leak. */
const verdict = (samples: readonly Sample[], warmUp: number) => {
  const steadySamples = afterWarmUp(samples, warmUp)
  const perHour = (theilSen(steadySamples) * HOUR) / 2 ** 20
  const hours = ((steadySamples.at(-1)?.[0] ?? 0) - (steadySamples[0]?.[0] ?? 0)) / HOUR
  return { perHour, leaks: hours >= 1 ? perHour > BOUND : perHour * hours > GROWTH }
}

t.setTimeout(MS + HOUR)
t.test(`soak: nothing leaks in ${MS} ms (SEED=${seed()})`, { timeout: MS + HOUR }, async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2 })
  const { workers } = await primary.config()
  const pids = workers.map(({ pid }) => pid)
  const all = calls(primary)
  const trialMs = shortOrLong(200, 5_000)
  const rate = (await callRandomly(all, trialMs, 0)) / trialMs
  const files = () => [primary.child.pid, ...pids].map(pid => readdirSync(`/proc/${pid}/fd`).length)
  await pause(500) // for the last streams of the trial
  const [filesBefore, usesBefore] = [files(), await useByWorker(primary, pids)]
  const memory = new Map<string, Sample[]>()
  let isOver = false
  const sample = async () => {
    for (let edit = 0; !isOver; edit++) {
      primary.write('routes.yaml', edit % 3 === 0 ? routes('[bad]') : routes(`edit-${edit}`))
      await pause(SAMPLE)
      for (const [name, bytes] of await resident(primary))
        memory.set(name, [...(memory.get(name) ?? []), [performance.now(), bytes]])
    }
  }
  const sampling = sample()
  const count = await callRandomly(all, MS, CLIENTS / (rate * SHARE))
  isOver = true
  await sampling
  const { version } = await primary.state(({ workers }) =>
    workers.every(({ state }) => state === 'serving'),
  )
  await pause(1_000)

  t.comment(`${count} calls at a capacity of ${Math.round(rate * 1000)}/s, ${version} versions`)
  for (const [name, samples] of memory) {
    const { perHour, leaks } = verdict(samples, WARM_UP)
    const last = (samples.at(-1)?.[1] ?? 0) / 2 ** 20
    const summary = `${name}: ${last.toFixed(0)} MiB, slope ${perHour.toFixed(1)} MiB/h`
    t.comment(`${summary} over ${afterWarmUp(samples, WARM_UP).length} samples`)
    if (LONG) t.notOk(leaks, summary)
  }
  t.ok(memory.size >= 3, 'primary and workers report their memory')
  // Kept connections are not leaks.
  for (const [index, now] of files().entries())
    t.ok(now <= (filesBefore[index] ?? 0) + 16, `${filesBefore[index]} files, then ${now}`)
  for (const [pid, now] of await useByWorker(primary, pids)) {
    const before = usesBefore.get(pid)
    t.ok(
      now.resources <= (before?.resources ?? 0) + 32,
      `resources: ${before?.resources}, ${now.resources}`,
    )
    t.ok(
      now.listeners <= (before?.listeners ?? 0) + 4,
      `listeners: ${before?.listeners}, ${now.listeners}`,
    )
  }
  t.same(
    (await primary.config()).workers.map(({ pid }) => pid),
    pids,
    'no worker was replaced',
  )
  t.same(
    primary.log().filter(line => line.process !== 'primary' && line.level === 'error'),
    [],
  )
})

t.test('soak: the verdict distinguishes a leak from noise', async t => {
  const chance = createChance()
  const series = (perHour: number) =>
    Array.from({ length: 300 }, (_, n): Sample => {
      const at = (n * 8 * HOUR) / 300
      // The series grows at first, then varies with the collector and has rare peaks.
      const growth = Math.min(at / HOUR, 1) * 60 + (chance() - 0.5) * 20 + (n % 50 === 0 ? 200 : 0)
      return [at, (100 + growth + (perHour * at) / HOUR) * 2 ** 20]
    })
  t.match(verdict(series(0), HOUR), { leaks: false })
  t.match(verdict(series(3), HOUR), { leaks: true })
  t.ok(Math.abs(verdict(series(3), HOUR).perHour - 3) < 1)
  const minute = series(3).map(([at, bytes]): Sample => [at / 480, bytes])
  t.match(verdict(minute, 20_000), { leaks: false }, 'a minute is too short to conclude a leak')
})
