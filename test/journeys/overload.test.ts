/** More requests than one process can serve: some are refused at once, the others are served, and
 *  no worker fails. */
import { Agent } from 'node:http'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually, folderWith, getAlone, type Primary, startPrimary } from '../helpers/primary.ts'

/** `OVERLOAD_SECONDS=20 LONG=1 node …` runs for a shorter time. */
const MS = scaled(2_000, Number(process.env.OVERLOAD_SECONDS ?? 60) * 1000)
const TIMES = 3
/** The gateway takes up to this many milliseconds to detect overload; requests before that wait in
 *  the queue. */
const ONSET = 1_000
/** Enough clients to keep it busy without a long queue. */
const CLIENTS = 8

interface Measurement {
  /** Answers of one status per second, and their 99th percentile in milliseconds. */
  rate(status: number): number
  p99(status: number): number
  readonly statuses: readonly number[]
}
/** Start and duration of each request, by status. */
type Times = Map<number, { readonly at: number; readonly took: number }[]>
const summarize = (times: Times, ms: number, from = 0): Measurement => ({
  rate: status => ((times.get(status)?.length ?? 0) * 1000) / ms,
  p99: status => {
    const fits = (times.get(status) ?? []).filter(({ at }) => at >= from)
    const durations = fits.map(({ took }) => took).sort((a, b) => a - b)
    return durations[Math.ceil(durations.length * 0.99) - 1] ?? 0
  },
  statuses: [...times.keys()].sort(),
})
/** Sends requests on open connections and records their durations by status. */
const openConnections = async ({ url }: Primary, sockets: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets })
  // A new connection may be refused in the rush, so each is tried until it succeeds.
  const connect = () => getAlone(`${url}/stamp`, agent).catch(() => undefined)
  await Promise.all(Array.from({ length: sockets }, () => eventually(connect)))
  const times = new Map() as Times
  const ask = async () => {
    const start = performance.now()
    const { status } = await getAlone(`${url}/fault?do=busy`, agent)
    const list = times.get(status) ?? []
    times.set(status, list)
    list.push({ at: start, took: performance.now() - start })
  }
  return { ask, times, stop: () => agent.destroy() }
}

/** Each client sends its next request after its answer: the capacity of the gateway. */
const measureCapacity = async (primary: Primary, ms: number): Promise<Measurement> => {
  const { ask, times, stop } = await openConnections(primary, CLIENTS)
  const until = performance.now() + ms
  const client = async () => {
    while (performance.now() < until) await ask()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  stop()
  return summarize(times, ms)
}
/** Sends this many requests a second, whether they are answered or not. */
const sendAtRate = async (
  primary: Primary,
  perSecond: number,
  ms: number,
): Promise<Measurement> => {
  const { ask, times, stop } = await openConnections(primary, 400)
  const start = performance.now()
  const requests: Promise<void>[] = []
  for (let now = start; now < start + ms; now = performance.now()) {
    while (requests.length < ((now - start) * perSecond) / 1000) requests.push(ask())
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await Promise.all(requests)
  stop()
  return summarize(times, ms, start + ONSET)
}

t.test(
  `overload: ${TIMES} times the capacity is served in part and refused in part`,
  { timeout: 600_000 },
  async t => {
    const primary = await startPrimary(t, { files: folderWith() })
    await measureCapacity(primary, 200) // compiled and warm
    const peak = await measureCapacity(primary, scaled(300, MS / 3))
    t.same(peak.statuses, [200])
    const over = await sendAtRate(primary, TIMES * peak.rate(200), MS)
    const goodput = over.rate(200) / peak.rate(200)
    t.comment(
      `${peak.rate(200).toFixed(0)}/s served at capacity, ${(goodput * 100).toFixed(0)} % of that beyond it, ` +
        `${over.rate(503).toFixed(0)}/s refused in ${over.p99(503).toFixed(0)} ms (p99); ` +
        `p99 of the served ${over.p99(200).toFixed(0)} ms, ${peak.p99(200).toFixed(0)} at capacity`,
    )
    t.ok(over.rate(200) > 0, 'some are served')
    t.ok(over.rate(503) > 0, 'some are refused')
    t.same(
      over.statuses.filter(status => status !== 200 && status !== 503),
      [],
    )
    if (LONG) {
      // The clients share the two processors.
      t.ok(goodput >= 0.9, 'goodput')
      t.ok(over.p99(503) <= 100, 'refused in time')
      t.ok(over.p99(200) <= 2 * peak.p99(200), 'accepted requests are served in time')
    }
    await eventually(
      async () => (await getAlone(`${primary.url}/fault?do=busy`)).status === 200 || undefined,
    )
    t.notOk(primary.log().some(line => line.msg === 'a worker ended'))
  },
)
