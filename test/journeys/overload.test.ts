/** More work than one process can do: some is turned away at once, the rest is served, and nothing breaks. */
import { Agent } from 'node:http'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually, folderWith, getAlone, type Primary, startPrimary } from '../helpers/primary.ts'

/** `OVERLOAD_SECONDS=20 LONG=1 node …` is a shorter minute. */
const MS = scaled(2_000, Number(process.env.OVERLOAD_SECONDS ?? 60) * 1000)
const TIMES = 3
/** It needs less than this, ms, to be sure that this is no hiccup; whoever comes in that time waits with the crowd. */
const ONSET = 1_000
/** Enough to keep it busy all the time, and no queue worth the name. */
const CLIENTS = 8

interface Measured {
  /** Answers of one status per second, and how long 99 of 100 took at most, ms. */
  rate(status: number): number
  p99(status: number): number
  readonly statuses: readonly number[]
}
/** When each was asked, and how long it took, by status. */
type Times = Map<number, { readonly at: number; readonly took: number }[]>
const measured = (times: Times, ms: number, from = 0): Measured => ({
  rate: status => ((times.get(status)?.length ?? 0) * 1000) / ms,
  p99: status => {
    const fits = (times.get(status) ?? []).filter(({ at }) => at >= from)
    const sorted = fits.map(({ took }) => took).sort((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
  },
  statuses: [...times.keys()].sort(),
})
/** `ask` on connections that are there already; how long each took by its status. */
const asking = async ({ url }: Primary, sockets: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets })
  // Who comes in a crowd may be turned away before it begins: each comes again until it is in.
  const come = () => getAlone(`${url}/stamp`, agent).catch(() => undefined)
  await Promise.all(Array.from({ length: sockets }, () => eventually(come)))
  const times = new Map() as Times
  const ask = async () => {
    const started = performance.now()
    const { status } = await getAlone(`${url}/fault?do=busy`, agent)
    const list = times.get(status) ?? []
    times.set(status, list)
    list.push({ at: started, took: performance.now() - started })
  }
  return { ask, times, stop: () => agent.destroy() }
}

/** Each client asks again as soon as it has its answer: what the gateway can do. */
const capacity = async (primary: Primary, ms: number): Promise<Measured> => {
  const { ask, times, stop } = await asking(primary, CLIENTS)
  const until = performance.now() + ms
  const client = async () => {
    while (performance.now() < until) await ask()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  stop()
  return measured(times, ms)
}
/** So many requests a second, whether they are answered or not. */
const flood = async (primary: Primary, perSecond: number, ms: number): Promise<Measured> => {
  const { ask, times, stop } = await asking(primary, 400)
  const started = performance.now()
  const asked: Promise<void>[] = []
  for (let now = started; now < started + ms; now = performance.now()) {
    while (asked.length < ((now - started) * perSecond) / 1000) asked.push(ask())
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await Promise.all(asked)
  stop()
  return measured(times, ms, started + ONSET)
}

t.test(`${TIMES} times what it can serve`, { timeout: 600_000 }, async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  await capacity(primary, 200) // compiled and warm
  const peak = await capacity(primary, scaled(300, MS / 3))
  t.same(peak.statuses, [200])
  const over = await flood(primary, TIMES * peak.rate(200), MS)
  const goodput = over.rate(200) / peak.rate(200)
  t.comment(
    `${peak.rate(200).toFixed(0)}/s served at capacity, ${(goodput * 100).toFixed(0)} % of that beyond it, ` +
      `${over.rate(503).toFixed(0)}/s turned away in ${over.p99(503).toFixed(0)} ms (p99); ` +
      `p99 of the served ${over.p99(200).toFixed(0)} ms, ${peak.p99(200).toFixed(0)} at capacity`,
  )
  t.ok(over.rate(200) > 0, 'some are served')
  t.ok(over.rate(503) > 0, 'and some turned away')
  t.same(
    over.statuses.filter(status => status !== 200 && status !== 503),
    [],
  )
  if (LONG) {
    // Clients share its two processors.
    t.ok(goodput >= 0.9, 'goodput')
    t.ok(over.p99(503) <= 100, 'refused soon')
    t.ok(over.p99(200) <= 2 * peak.p99(200), 'those that are let in are served soon')
  }
  await eventually(
    async () => (await getAlone(`${primary.url}/fault?do=busy`)).status === 200 || undefined,
  )
  t.notOk(primary.log().some(line => line.msg === 'a worker ended'))
})
