/** Five thousand slow clients for two minutes: the others are served, and memory stays near what a bare server of Node needs for
 *  as many. */
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
/** ms: what a busy machine may add to a deadline of the gateway's. */
const LATE = 300
/** ms until a head has to be there, and until a body that hardly comes is seen. */
const DEADLINES = { heads: 15_000, bodies: 12_500 }

interface Subject {
  readonly url: string
  readonly pid: number
  /** Whether its deadlines are judged. */
  readonly strict: boolean
}
const CLIENTS = new URL('../helpers/slow-crowd.ts', import.meta.url)
const SERVER = new URL('../helpers/bare-server.ts', import.meta.url)
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

const ask = async ({ url }: Subject): Promise<string> => {
  const response = await fetch(`${url}/s/json`, { method: 'POST', body: '{}' })
  return response.text()
}
/** ms that 99 of 100 stay below. */
const good = async (t: Test, subject: Subject, seconds: number): Promise<string> => {
  const times: number[] = []
  const until = performance.now() + seconds * 1_000
  for (; performance.now() < until; await pause(20)) {
    const started = performance.now()
    if ((await ask(subject)) !== '{"ok":true}') t.fail('one of the good was refused')
    times.push(performance.now() - started)
  }
  times.sort((left, right) => left - right)
  return (times[Math.ceil(times.length * 0.99) - 1] ?? 0).toFixed(1)
}
const crowded = async (t: Test, subject: Subject, kind: keyof typeof KINDS, seconds: number) => {
  await warm(() => ask(subject))
  const before = await good(t, subject, 5)
  const { port } = new URL(subject.url)
  const growth = await growthDuring(subject.pid, async () => {
    const crowd = forkSwiftly(CLIENTS, [port, kind, String(seconds), String(CROWD)])
    const left = once(crowd, 'exit').then(([code]) =>
      Promise.reject(new Error(`the crowd left: ${code}`)),
    )
    const said = Promise.race([once(crowd, 'message'), left])
    const beside = await good(t, subject, seconds)
    const [{ gone, oldest }] = await said
    t.comment(
      `${gone} let go, the oldest after ${(oldest / 1_000).toFixed(1)} s; p99 of the good ${before} ms before, ${beside} beside`,
    )
    t.ok(gone >= CROWD, 'they are let go')
    if (subject.strict) t.ok(oldest <= DEADLINES[kind] + LATE, 'none is kept beyond its time')
  })
  t.comment(`${(growth / MIB).toFixed(1)} MiB`)
  return growth
}

t.test('beside a bare server', { skip: !LONG, timeout: 900_000 }, async t => {
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
      const least = await crowded(t, bare, kind, Math.min(SECONDS, 40))
      server.disconnect()
      const growth = await crowded(t, { ...gateway, strict: true }, kind, SECONDS)
      // Bodies: as measured, Node's own part is more than a hundred by itself.
      const most = Math.max(100 * MIB, 1.5 * least)
      t.ok(growth < most, `${(growth / MIB).toFixed(1)} of ${(most / MIB).toFixed(1)} MiB`)
    })
})
