/** Everything at once for a while: requests, streams cut by their clients, errors, reloads. Nothing may be left behind. */
import { readdirSync } from 'node:fs'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { folderWith, getAlone, type Primary, routes, startPrimary } from '../helpers/primary.ts'
import { createChance, seed } from '../helpers/seeded.ts'

/** `SOAK_MINUTES=480 npm run test:long` is a night. */
const MS = scaled(1_500, Number(process.env.SOAK_MINUTES ?? 5) * 60_000)
const SAMPLE = scaled(250, 2_000)

const chance = createChance()
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

/** The median of the slopes between all pairs: one odd sample does not bend it. */
const theilSen = (samples: readonly (readonly [x: number, y: number])[]): number => {
  const slopes = samples.flatMap(([x, y], index) =>
    samples.slice(index + 1).map(([u, v]) => (v - y) / (u - x)),
  )
  return slopes.sort((a, b) => a - b)[Math.floor(slopes.length / 2)] ?? 0
}

t.test(`for ${MS} ms (SEED=${seed()})`, async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2 })
  const { workers } = await primary.config()
  const pids = [primary.child.pid ?? 0, ...workers.map(({ pid }) => pid)]
  const files = () => pids.map(pid => readdirSync(`/proc/${pid}/fd`).length)
  const all = calls(primary)
  const until = performance.now() + MS
  const before = files()
  const client = async () => {
    while (performance.now() < until) await all[Math.floor(chance() * all.length)]?.()
  }
  const memory: [number, number][] = []
  const reloads = async () => {
    for (let edit = 0; performance.now() < until; edit++) {
      primary.write('routes.yaml', edit % 3 === 0 ? routes('[bad]') : routes(`edit-${edit}`))
      await new Promise(resolve => setTimeout(resolve, SAMPLE))
      const bytes = await primary.metric('resident_bytes{process="worker 1"}')
      memory.push([performance.now(), bytes ?? 0])
    }
  }
  await Promise.all([...Array.from({ length: 12 }, client), reloads()])
  await primary.state(({ workers }) => workers.every(({ state }) => state === 'serving'))
  // Connections that are kept for the next request are no leak.
  const kept = await fetch(`${primary.url}/stamp`)
  await kept.text()
  for (const [index, now] of files().entries()) {
    t.ok(now <= (before[index] ?? 0) + 16, `${before[index]} files, then ${now}`)
  }
  const settled = memory.slice(memory.length / 3)
  const perHour = (theilSen(settled) * 3_600_000) / 2 ** 20
  t.comment(`${settled.length} samples of memory, slope ${perHour.toFixed(1)} MiB/h`)
  if (LONG && MS > 3_600_000) t.ok(perHour <= 1)
  t.same(
    (await primary.config()).workers.map(({ pid }) => pid),
    workers.map(({ pid }) => pid),
  )
  t.same(
    primary.log().filter(line => line.process !== 'primary' && line.level === 'error'),
    [],
  )
})
