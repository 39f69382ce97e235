/** Five thousand slow clients for two minutes: other clients are served, and memory stays near that
 *  of a bare Node server with as many. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { LONG } from '../helpers/long.ts'
import { growthDuring, warm } from '../helpers/memory.ts'
import { forkSwiftly } from '../helpers/operator.ts'
import type { KINDS } from '../helpers/slow.ts'
import { startUpstream } from '../helpers/upstream.ts'

const SECONDS = Number(process.env.SLOW_SECONDS ?? 120)
const CROWD = 5_000
const MIB = 1024 * 1024
/** Milliseconds that a busy machine may add to a deadline. */
const TOLERANCE = 300
/** Milliseconds until a head must be complete, and until a stalled body is detected. */
const DEADLINES = { heads: 15_000, bodies: 12_500 }

interface Subject {
  readonly url: string
  readonly pid: number
  /** Whether its deadlines are checked. */
  readonly strict: boolean
}
const CLIENTS = new URL('../helpers/slow-crowd.ts', import.meta.url)
const SERVER = new URL('../helpers/bare-server.ts', import.meta.url)
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

const ask = async ({ url }: Subject): Promise<string> => {
  const response = await fetch(`${url}/s/json`, { method: 'POST', body: '{}' })
  return response.text()
}
/** The 99th percentile of normal requests, in milliseconds. */
const measureNormal = async (t: Test, subject: Subject, seconds: number): Promise<string> => {
  const times: number[] = []
  const until = performance.now() + seconds * 1_000
  for (; performance.now() < until; await pause(20)) {
    const start = performance.now()
    if ((await ask(subject)) !== '{"ok":true}') t.fail('a normal request was refused')
    times.push(performance.now() - start)
  }
  times.sort((one, other) => one - other)
  return (times[Math.ceil(times.length * 0.99) - 1] ?? 0).toFixed(1)
}
const growthWithCrowd = async (
  t: Test,
  subject: Subject,
  kind: keyof typeof KINDS,
  seconds: number,
) => {
  await warm(() => ask(subject))
  const before = await measureNormal(t, subject, 5)
  const { port } = new URL(subject.url)
  const growth = await growthDuring(subject.pid, async () => {
    const crowd = forkSwiftly(CLIENTS, [port, kind, String(seconds), String(CROWD)])
    const crowdExit = once(crowd, 'exit').then(([code]) =>
      Promise.reject(new Error(`the process of the slow clients ended: ${code}`)),
    )
    const crowdReport = Promise.race([once(crowd, 'message'), crowdExit])
    const during = await measureNormal(t, subject, seconds)
    const [{ gone: closedCount, oldest }] = await crowdReport
    t.comment(
      `${closedCount} closed, the oldest after ${(oldest / 1_000).toFixed(1)} s; p99 of normal requests ${before} ms before, ${during} ms during`,
    )
    t.ok(closedCount >= CROWD, 'all slow clients are closed')
    if (subject.strict)
      t.ok(oldest <= DEADLINES[kind] + TOLERANCE, 'each is closed at its deadline')
  })
  t.comment(`${(growth / MIB).toFixed(1)} MiB`)
  return growth
}

t.test(
  'slow clients: memory stays near that of a bare Node server',
  { skip: !LONG, timeout: 900_000 },
  async t => {
    const upstream = await startUpstream()
    const gateway = await startGateway({
      routes: `
pipeline: [errors]
upstreams: { raw: { url: '${upstream.url}', connections: 1 } }
routes: [{ path: 'GET|POST /s/{name}', upstream: raw }]
`,
    })
    t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
    for (const kind of ['heads', 'bodies'] as const)
      await t.test(kind, async t => {
        const server = forkSwiftly(SERVER)
        const [port] = await once(server, 'message')
        const bare = { url: `http://127.0.0.1:${port}`, pid: server.pid ?? 0, strict: false }
        const bareGrowth = await growthWithCrowd(t, bare, kind, Math.min(SECONDS, 40))
        server.disconnect()
        const growth = await growthWithCrowd(t, { ...gateway, strict: true }, kind, SECONDS)
        // For bodies, Node alone was measured at more than 100 MiB.
        const limit = Math.max(100 * MIB, 1.5 * bareGrowth)
        t.ok(growth < limit, `${(growth / MIB).toFixed(1)} of ${(limit / MIB).toFixed(1)} MiB`)
      })
  },
)
