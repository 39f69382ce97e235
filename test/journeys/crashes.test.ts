/** One of two workers crashes, again and again, under load: only what it had under way fails, and it is replaced. */
import { Agent, request } from 'node:http'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { eventually, folderWith, getAlone, type Primary, startPrimary } from '../helpers/primary.ts'
import { createChance, seed } from '../helpers/seeded.ts'

/** `CRASHES=20 LONG=1 node …` is a smaller night. */
const CRASHES = scaled(3, Number(process.env.CRASHES ?? 200))
/** ms between two of them: fewer than five in half a minute are no loop, which has a test of its own. */
const PAUSE = scaled(0, 8_000)
/** ms between two requests of one client. */
const GAP = scaled(30, 10)
const KINDS = ['segv', 'throw', 'memory']
/** A failure may be told a moment before or after the end of its process. */
const MOMENT = 5_000

/** `pid`: whose connection it was, as far as this client could know. */
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

/** Requests on kept connections, requests on new ones, and streams, all the while. */
const startLoad = ({ url }: Primary): Load => {
  let over = false
  const failures: Failure[] = []
  const counts = { served: 0, streams: 0, other: 0 }
  const fail = (pid?: number) => failures.push({ at: performance.now(), pid })
  const ask = async (agent: Agent | false, known?: number): Promise<number | undefined> => {
    try {
      const { status, text } = await getAlone(`${url}/stamp`, agent)
      if (status === 200) counts.served++
      else counts.other++
      return (JSON.parse(text) as { pid: number }).pid
    } catch {
      fail(known)
      return undefined
    }
  }
  const kept = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let pid: number | undefined; !over; await pause(GAP)) pid = await ask(agent, pid)
    agent.destroy()
  }
  const lone = async () => {
    for (; !over; await pause(2 * GAP)) await ask(false)
  }
  const streaming = async () => {
    while (!over) if (await stream(`${url}/events?count=50&every=20`, fail)) counts.streams++
  }
  const all = [kept, kept, kept, kept, lone, lone, streaming, streaming, streaming, streaming]
  const ends = Promise.all(all.map(run => run()))
  return {
    failures,
    counts,
    stop: async () => {
      over = true
      await ends
    },
  }
}
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Whether it came whole; else whose it was is told. */
const stream = (url: string, cut: (pid?: number) => void): Promise<boolean> =>
  new Promise(resolve => {
    const failed = (pid?: number) => {
      cut(pid)
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
        else failed(Number(response.headers['x-pid']))
      })
    })
    outgoing.on('error', () => failed()).end()
  })

const stampOf = ({ time }: Record<string, unknown>): number => new Date(time as string).getTime()
/** ms from the end of a worker to its successor, by the log's own time. */
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

t.test(`${CRASHES} crashes (SEED=${seed()})`, { timeout: 3_600_000 }, async t => {
  const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --max-old-space-size=96` }
  const primary = await startPrimary(t, { files: folderWith(), workers: 2, env })
  const chance = createChance()
  const load = startLoad(primary)
  const deaths = new Map<number, number>()
  for (let crash = 0; crash < CRASHES; crash++) {
    await pause(PAUSE + chance() * 300)
    const before = await servingPids(primary)
    const at = performance.now()
    await getAlone(`${primary.url}/fault?do=${KINDS[crash % KINDS.length]}`).catch(() => 'cut')
    const pids = await eventually(async () => {
      const now = await servingPids(primary)
      return now.some(pid => !before.includes(pid)) ? now : undefined
    })
    const dead = before.filter(pid => !pids.includes(pid))
    if (dead.length !== 1) t.fail(`crash ${crash} ended ${dead.length} workers`)
    for (const pid of dead) deaths.set(pid, at)
  }
  await pause(1_000)
  await load.stop()

  const own = ({ at, pid }: Failure): boolean =>
    pid === undefined
      ? [...deaths.values()].some(death => at - death >= -MOMENT && at - death <= MOMENT)
      : Math.abs(at - (deaths.get(pid) ?? Number.POSITIVE_INFINITY)) <= MOMENT
  const { failures, counts } = load
  t.same(
    failures.filter(failure => !own(failure)),
    [],
    'nothing failed that was not under way in the crashed worker',
  )
  t.equal(counts.other, 0, 'and nothing was refused')
  t.ok(counts.served > CRASHES * 10 && counts.streams > 0)
  // One that runs out of memory on a busy machine may be taken for one that hangs, and is ended as such.
  const restarts = await Promise.all(
    ['crash', 'stalled'].map(reason => primary.metric(`worker_restarts_total{reason="${reason}"}`)),
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
  if (LONG) t.ok(share(0.95) <= 1_000 && share(1) <= 3_000, 'and soon')
})

t.test('a loop of crashes backs off, is told, and ends', { skip: !LONG }, async t => {
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
  // Half a minute without an end makes it well again.
  await pause(15_000)
  await eventually(async () => ((await primary.ready()) === 200 ? true : undefined))
})
