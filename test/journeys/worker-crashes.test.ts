/** Repeated crashes of one of two workers under load: only its running requests fail, and it is
 *  replaced. */
import { Agent, request } from 'node:http'
import t from 'tap'
import {
  eventually,
  folderWith,
  getAlone,
  type Primary,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { createChance, LONG, seed, shortOrLong } from '../helpers/run-settings.ts'

/** `CRASHES=20 LONG=1 node …` runs fewer crashes. */
const CRASHES = shortOrLong(3, Number(process.env.CRASHES ?? 200))
/** Milliseconds between two crashes: fewer than five in half a minute are not a crash loop, which
 *  has its own test. */
const PAUSE = shortOrLong(0, 8_000)
/** Milliseconds between two requests of one client. */
const GAP = shortOrLong(30, 10)
const KINDS = ['segv', 'throw', 'memory']
/** Milliseconds by which a client may notice a failure before or after its process ends. */
const TOLERANCE = 5_000

/** `pid` is the worker of the connection, as far as the client could know. */
interface Failure {
  readonly at: number
  readonly pid: number | undefined
}
interface Load {
  readonly failures: readonly Failure[]
  readonly counts: { served: number; streams: number; other: number }
  stop(): Promise<void>
}

const servingPids = async (primary: Primary): Promise<readonly number[]> =>
  (
    await primary.state(
      ({ workers }) => workers.filter(({ state }) => state === 'serving').length === 2,
    )
  ).workers.map(({ pid }) => pid)

/** Sends requests on kept and on new connections, and opens streams, until it is stopped. */
const startLoad = ({ url }: Primary): Load => {
  let isOver = false
  const failures: Failure[] = []
  const counts = { served: 0, streams: 0, other: 0 }
  const fail = (pid?: number) => failures.push({ at: performance.now(), pid })
  const ask = async (agent: Agent | false, knownPid?: number): Promise<number | undefined> => {
    try {
      const { status, text } = await getAlone(`${url}/stamp`, agent)
      if (status === 200) counts.served++
      else counts.other++
      return (JSON.parse(text) as { pid: number }).pid
    } catch {
      fail(knownPid)
      return undefined
    }
  }
  const runKeepAlive = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let pid: number | undefined; !isOver; await pause(GAP)) pid = await ask(agent, pid)
    agent.destroy()
  }
  const runSingle = async () => {
    for (; !isOver; await pause(2 * GAP)) await ask(false)
  }
  const runStreams = async () => {
    while (!isOver) if (await stream(`${url}/events?count=50&every=20`, fail)) counts.streams++
  }
  const all = [
    runKeepAlive,
    runKeepAlive,
    runKeepAlive,
    runKeepAlive,
    runSingle,
    runSingle,
    runStreams,
    runStreams,
    runStreams,
    runStreams,
  ]
  const ends = Promise.all(all.map(run => run()))
  return {
    failures,
    counts,
    stop: async () => {
      isOver = true
      await ends
    },
  }
}
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Resolves to whether the stream was complete; otherwise reports its worker. */
const stream = (url: string, onCut: (pid?: number) => void): Promise<boolean> =>
  new Promise(resolve => {
    const fail = (pid?: number) => {
      onCut(pid)
      resolve(false)
    }
    const outgoing = request(url, { agent: false }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', part => {
        text += part
      })
      response.on('error', () => {})
      response.on('close', () => {
        if (text.endsWith('data: end\n\n')) resolve(true)
        else fail(Number(response.headers['x-pid']))
      })
    })
    outgoing.on('error', () => fail()).end()
  })

const stampOf = ({ time }: Record<string, unknown>): number => new Date(time as string).getTime()
/** Milliseconds from the end of a worker to its successor, by the log's timestamps. */
const replacements = (primary: Primary): number[] => {
  const lines = primary.log()
  return lines.flatMap((line, index) => {
    if (line.msg !== 'a worker ended') return []
    const next = lines
      .slice(index)
      .find(each => each.msg === 'a worker serves' && each.worker === line.worker)
    return next ? stampOf(next) - stampOf(line) : []
  })
}

t.test(
  `worker crashes: ${CRASHES} crashes fail only their own requests (SEED=${seed()})`,
  { timeout: 3_600_000 },
  async t => {
    const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --max-old-space-size=96` }
    const primary = await startPrimary(t, { files: folderWith(), workers: 2, env })
    const chance = createChance()
    const load = startLoad(primary)
    /** From the request that ends a worker to its successor: one that runs out of memory takes long
     *  on a busy machine. */
    const crashTimes = new Map<number, readonly [from: number, to: number]>()
    for (let crash = 0; crash < CRASHES; crash++) {
      await pause(PAUSE + chance() * 300)
      const before = await servingPids(primary)
      const at = performance.now()
      await getAlone(`${primary.url}/fault?do=${KINDS[crash % KINDS.length]}`).catch(() => 'cut')
      const pids = await eventually(async () => {
        const now = await servingPids(primary)
        return now.some(pid => !before.includes(pid)) ? now : undefined
      })
      const endedPids = before.filter(pid => !pids.includes(pid))
      if (endedPids.length !== 1) t.fail(`crash ${crash} ended ${endedPids.length} workers`)
      for (const pid of endedPids) crashTimes.set(pid, [at, performance.now()])
    }
    await pause(1_000)
    await load.stop()

    const isOwnFailure = ({ at, pid }: Failure): boolean => {
      const times = pid === undefined ? [...crashTimes.values()] : [crashTimes.get(pid) ?? []]
      return times.some(
        ([from = Number.NaN, to = Number.NaN]) => at >= from - TOLERANCE && at <= to + TOLERANCE,
      )
    }
    const { failures, counts } = load
    t.same(
      failures.filter(failure => !isOwnFailure(failure)),
      [],
      'only requests of crashed workers failed',
    )
    t.equal(counts.other, 0, 'nothing was refused')
    t.ok(counts.served > CRASHES * 10 && counts.streams > 0)
    // On a busy machine a worker that runs out of memory may count as stalled, and is ended
    // for that.
    const restarts = await Promise.all(
      ['crash', 'stalled'].map(reason =>
        primary.metric(`worker_restarts_total{reason="${reason}"}`),
      ),
    )
    t.equal(
      restarts.reduce<number>((sum, each) => sum + (each ?? 0), 0),
      CRASHES,
    )
    const times = replacements(primary).sort((a, b) => a - b)
    const share = (part: number) => times[Math.ceil(times.length * part) - 1] ?? 0
    t.comment(
      `${counts.served} served, ${counts.streams} streams whole, ${failures.length} of crashed workers failed; ` +
        `replaced after ${share(0.5)} ms (median), ${share(0.95)} ms (95 %), ${share(1)} ms (worst)`,
    )
    t.equal(times.length, CRASHES, 'each was replaced')
    if (LONG) t.ok(share(0.95) <= 1_000 && share(1) <= 3_000, 'replaced within the time limits')
  },
)

t.test('crash loop: backs off, turns readiness red and recovers', { skip: !LONG }, async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2 })
  const until = performance.now() + 30_000
  while (performance.now() < until) {
    const { workers } = await primary.config()
    for (const { state, pid } of workers) if (state === 'serving') process.kill(pid, 'SIGKILL')
    await pause(20)
  }
  t.equal(await primary.ready(), 503, 'not ready')
  const ends = primary.log().filter(line => line.msg === 'a worker ended')
  t.comment(`${ends.length} ends in 30 s, delays ${ends.map(line => line.delay)} ms`)
  t.ok(ends.length >= 5 && ends.length <= 20, 'no storm of forks')
  await servingPids(primary)
  // Readiness recovers after half a minute without a crash.
  await pause(15_000)
  await eventually(async () => ((await primary.ready()) === 200 ? true : undefined))
})
