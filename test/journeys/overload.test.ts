/** More requests than one process can serve: some are refused at once, the others are served, and
 *  no worker fails. */
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isCode } from '../../engine/kit.ts'
import { cpuOf } from '../bench/processes.ts'
import {
  eventually,
  folderWith,
  getAlone,
  type Primary,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { LONG } from '../helpers/run-settings.ts'

/** `OVERLOAD_SECONDS=20 LONG=1 node …` runs for a shorter time. */
const MS = Number(process.env.OVERLOAD_SECONDS ?? 60) * 1000
const TIMES = 3
/** The gateway takes up to this many milliseconds to detect overload; requests before that wait in
 *  the queue. */
const ONSET = 1_000
/** Enough clients to keep it busy without a long queue. */
const CLIENTS = 8

/** Clients whose requests take 640 ms of CPU time together: more is overload, and a worker that is
 *  silent for 3 s is killed. */
const CROWD = 64

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
    return status
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
  const requests: Promise<number>[] = []
  for (let now = start; now < start + ms; now = performance.now()) {
    while (requests.length < ((now - start) * perSecond) / 1000) requests.push(ask())
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await Promise.all(requests)
  stop()
  return summarize(times, ms, start + ONSET)
}

/** A connection that is refused in the rush may end before this process has sent its request. */
const onReset = (error: unknown): number => {
  if (isCode(error, 'ECONNRESET')) return 503
  throw error
}
/** Clients that send their next request after an answer, a refused one after a pause, until
 *  `isEnough`. */
const flood = async (primary: Primary, isEnough: (times: Times) => boolean) => {
  const { ask, times, stop } = await openConnections(primary, CROWD)
  const client = async () => {
    while (!isEnough(times)) {
      if ((await ask().catch(onReset)) === 503) await pause(200)
    }
  }
  await Promise.all(Array.from({ length: CROWD }, client))
  stop()
  return summarize(times, MS)
}
/** Seconds of CPU time that the workers have used. */
const workerTime = async (primary: Primary): Promise<number> => {
  const { workers } = await primary.config()
  return workers.reduce((sum, { pid }) => sum + cpuOf(pid), 0)
}
/** s of load in which a worker with a core of its own refuses. */
const ENOUGH = 20
/** The share of a core below which a worker does not count as overloaded, with a margin. */
const OWN_SHARE = 0.6
const check = (t: Test, primary: Primary, { statuses }: Measurement) => {
  t.same(
    statuses.filter(status => status !== 200 && status !== 503),
    [],
  )
  t.notOk(primary.log().some(line => line.msg === 'a worker ended'))
}

t.test('overload: more clients than can be served are served in part and refused', async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  const [startedAt, timeBefore] = [performance.now(), await workerTime(primary)]
  const load = await flood(primary, times => {
    const isOver = performance.now() - startedAt > ENOUGH * 1_000
    return isOver || (times.has(200) && times.has(503))
  })
  const seconds = (performance.now() - startedAt) / 1_000
  const share = ((await workerTime(primary)) - timeBefore) / seconds
  t.ok(load.statuses.includes(200), 'some are served')
  if (load.statuses.includes(503) || share > OWN_SHARE)
    t.ok(load.statuses.includes(503), `some are refused: ${share} of a core`)
  else t.comment(`other programs left the worker ${share} of a core: it refuses nothing then`)
  await eventually(
    async () => (await getAlone(`${primary.url}/fault?do=busy`)).status === 200 || undefined,
  )
  check(t, primary, load)
})

t.test(
  `overload: ${TIMES} times the capacity keeps its throughput and its latency`,
  { skip: !LONG && 'needs an idle machine: LONG=1', timeout: 600_000 },
  async t => {
    const primary = await startPrimary(t, { files: folderWith() })
    await measureCapacity(primary, 200) // compiled and warm
    const peak = await measureCapacity(primary, MS / 3)
    t.same(peak.statuses, [200])
    const over = await sendAtRate(primary, TIMES * peak.rate(200), MS)
    const goodput = over.rate(200) / peak.rate(200)
    t.comment(
      `${peak.rate(200).toFixed(0)}/s served at capacity, ${(goodput * 100).toFixed(0)} % of that beyond it, ` +
        `${over.rate(503).toFixed(0)}/s refused in ${over.p99(503).toFixed(0)} ms (p99); ` +
        `p99 of the served ${over.p99(200).toFixed(0)} ms, ${peak.p99(200).toFixed(0)} at capacity`,
    )
    // The clients share the two processors.
    t.ok(goodput >= 0.9, 'goodput')
    t.ok(over.p99(503) <= 100, 'refused in time')
    t.ok(over.p99(200) <= 2 * peak.p99(200), 'accepted requests are served in time')
    check(t, primary, over)
  },
)
