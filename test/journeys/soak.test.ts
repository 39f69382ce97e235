/** Everything at once for a while: requests, streams cut by their clients, errors, reloads. Nothing may be left behind. */
import { readdirSync } from 'node:fs'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { folderWith, getAlone, type Primary, routes, startPrimary } from '../helpers/primary.ts'
import { createChance, seed } from '../helpers/seeded.ts'
import { type Sample, settledOf, theilSen } from '../helpers/slope.ts'

const HOUR = 3_600_000
/** A night: `SOAK_HOURS=8 LONG=1 node test/journeys/soak.test.ts`. A minute: `SOAK_HOURS=0.0167`. */
const MS = process.env.SOAK_HOURS ? Number(process.env.SOAK_HOURS) * HOUR : scaled(1_000, HOUR / 6)
/** Heaps and caches grow to their size first: an hour of a night, a third of less. */
const WARM_UP = Math.min(HOUR, MS / 3)
/** At least two hundred samples, however short; no more than five hundred, however long. */
const SAMPLE = Math.max(100, Math.min(MS / 200, 5_000), MS / 500)
/** MiB an hour. */
const BOUND = 1
/** Under an hour of samples a slope says more of the collector's rhythm than of a leak: then this much growth is too much. */
const GROWTH = 48
const CLIENTS = 12
/** Of what it can do at all. */
const SHARE = 0.7

const chance = createChance()
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const aborted = async (url: string) => {
  const leave = new AbortController()
  const response = await fetch(url, { signal: leave.signal })
  setTimeout(() => leave.abort(), chance() * 100)
  await response.text().catch(() => {})
}
const calls = ({ url }: Primary): readonly (() => Promise<unknown>)[] => [
  () => getAlone(`${url}/stamp`),
  () => fetch(`${url}/stamp`).then(each => each.text()),
  () => fetch(`${url}/events?count=5&every=10`).then(each => each.text()),
  () => aborted(`${url}/events?count=1000&every=5`),
  () => getAlone(`${url}/nowhere`),
  () => fetch(`${url}/stamp`, { method: 'POST', body: '{"broken' }).then(each => each.text()),
]

/** Calls at random for a while, none sooner than `gap` ms after the one before. Resolves to how many. */
const press = async (all: ReturnType<typeof calls>, ms: number, gap: number): Promise<number> => {
  const until = performance.now() + ms
  let count = 0
  const client = async () => {
    while (performance.now() < until) {
      const started = performance.now()
      await all[Math.floor(chance() * all.length)]?.()
      count++
      const rest = gap - (performance.now() - started)
      if (rest > 0) await pause(rest)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return count
}

/** Resident memory of each process, by its own word. */
const resident = async ({ admin }: Primary): Promise<ReadonlyMap<string, number>> => {
  const text = await (await fetch(`${admin}/metrics`)).text()
  const lines = text.matchAll(/^tollgate_resident_bytes\{process="([^"]+)"\} (\S+)$/gm)
  return new Map([...lines].map(([, name = '', bytes]) => [name, Number(bytes)]))
}
interface Held {
  readonly pid: number
  readonly resources: number
  readonly listeners: number
}
/** What each worker holds while nobody asks for anything else. */
const heldBy = async (
  { url }: Primary,
  pids: readonly number[],
): Promise<ReadonlyMap<number, Held>> => {
  const found = new Map<number, Held>()
  while (found.size < pids.length) {
    const held = JSON.parse((await getAlone(`${url}/fault`)).text) as Held
    found.set(held.pid, held)
  }
  return found
}

/** MiB per hour, and whether that is too much. */
const verdict = (samples: readonly Sample[], warmUp: number) => {
  const settled = settledOf(samples, warmUp)
  const perHour = (theilSen(settled) * HOUR) / 2 ** 20
  const hours = ((settled.at(-1)?.[0] ?? 0) - (settled[0]?.[0] ?? 0)) / HOUR
  return { perHour, leaks: hours >= 1 ? perHour > BOUND : perHour * hours > GROWTH }
}

t.setTimeout(MS + HOUR)
t.test(`for ${MS} ms (SEED=${seed()})`, { timeout: MS + HOUR }, async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2 })
  const { workers } = await primary.config()
  const pids = workers.map(({ pid }) => pid)
  const all = calls(primary)
  const trial = scaled(200, 5_000)
  const rate = (await press(all, trial, 0)) / trial
  const files = () => [primary.child.pid, ...pids].map(pid => readdirSync(`/proc/${pid}/fd`).length)
  await pause(500) // the streams of the trial are over
  const [filesBefore, heldBefore] = [files(), await heldBy(primary, pids)]
  const memory = new Map<string, Sample[]>()
  let over = false
  const watching = async () => {
    for (let edit = 0; !over; edit++) {
      primary.write('routes.yaml', edit % 3 === 0 ? routes('[bad]') : routes(`edit-${edit}`))
      await pause(SAMPLE)
      for (const [name, bytes] of await resident(primary))
        memory.set(name, [...(memory.get(name) ?? []), [performance.now(), bytes]])
    }
  }
  const watched = watching()
  const count = await press(all, MS, CLIENTS / (rate * SHARE))
  over = true
  await watched
  const { version } = await primary.state(({ workers }) =>
    workers.every(({ state }) => state === 'serving'),
  )
  await pause(1_000)

  t.comment(`${count} calls of ${Math.round(rate * 1000)}/s that it could do, ${version} versions`)
  for (const [name, samples] of memory) {
    const { perHour, leaks } = verdict(samples, WARM_UP)
    const last = (samples.at(-1)?.[1] ?? 0) / 2 ** 20
    const story = `${name}: ${last.toFixed(0)} MiB, slope ${perHour.toFixed(1)} MiB/h`
    t.comment(`${story} over ${settledOf(samples, WARM_UP).length} samples`)
    if (LONG) t.notOk(leaks, story)
  }
  t.ok(memory.size >= 3, 'primary and workers tell their memory')
  // Connections that are kept for the next request are no leak.
  for (const [index, now] of files().entries())
    t.ok(now <= (filesBefore[index] ?? 0) + 16, `${filesBefore[index]} files, then ${now}`)
  for (const [pid, now] of await heldBy(primary, pids)) {
    const before = heldBefore.get(pid)
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
    'nobody was replaced',
  )
  t.same(
    primary.log().filter(line => line.process !== 'primary' && line.level === 'error'),
    [],
  )
})

t.test('a leak is told from noise', async t => {
  const chance = createChance()
  const series = (perHour: number) =>
    Array.from({ length: 300 }, (_, n): Sample => {
      const at = (n * 8 * HOUR) / 300
      // It grows at first, then the collector goes up and down, and once in a while far up.
      const grown = Math.min(at / HOUR, 1) * 60 + (chance() - 0.5) * 20 + (n % 50 === 0 ? 200 : 0)
      return [at, (100 + grown + (perHour * at) / HOUR) * 2 ** 20]
    })
  t.match(verdict(series(0), HOUR), { leaks: false })
  t.match(verdict(series(3), HOUR), { leaks: true })
  t.ok(Math.abs(verdict(series(3), HOUR).perHour - 3) < 1)
  const minute = series(3).map(([at, bytes]): Sample => [at / 480, bytes])
  t.match(verdict(minute, 20_000), { leaks: false }, 'a minute is too short for such a claim')
})
