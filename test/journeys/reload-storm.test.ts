/** Edits faster than versions can be built, under load: no request fails, no stream is cut, and the
 *  last edit wins. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import t from 'tap'
import WebSocket from 'ws'
import {
  eventually,
  folderWith,
  getAlone,
  routes,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { startUpstream } from '../helpers/gateway/upstream.ts'
import { createChance, LONG, seed, shortOrLong } from '../helpers/run-settings.ts'

/** `EDITS=400 LONG=1 node …` makes fewer edits. */
const EDITS = shortOrLong(30, Number(process.env.EDITS ?? 1_200))
const PER_SECOND = 20
const RATE = shortOrLong(200, 500)
const STREAMS = shortOrLong(20, 200)
const SOCKETS = shortOrLong(10, 100)
/** Milliseconds between two events of a stream. */
const EVERY = 50

const upstream = await startUpstream()
t.teardown(() => upstream.stop())
const seconds = EDITS / PER_SECOND + 1
await upstream.script('events', [
  {
    do: 'send',
    bytes:
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
  },
  {
    do: 'send',
    bytes: 'data: {n}\n\n',
    inChunks: true,
    times: (seconds * 1000) / EVERY,
    every: EVERY,
  },
  { do: 'send', bytes: 'data: end\n\n', inChunks: true },
  { do: 'send', bytes: '0\r\n\r\n' },
])
await upstream.script('echo', [{ do: 'websocket', manner: 'echo' }])
const more = `upstreams: { up: { url: '${upstream.url}' } }`
const config = (text: string): string =>
  routes(text)
    .replace('pipeline:', `${more}\npipeline:`)
    .concat(
      "  - { path: 'GET /s/{name}', upstream: up }\n  - { path: 'WS /s/{name}', upstream: up }\n",
    )

t.test('reload storm: edits under load fail no request and cut no stream', async t => {
  const files = { ...folderWith(), 'routes.yaml': config('edit-0') }
  const primary = await startPrimary(t, { files, workers: 2 })
  let isOver = false

  // Streams and WebSockets stay open during all reloads.
  const streams = Array.from({ length: STREAMS }, async () => {
    const text = await (await fetch(`${primary.url}/s/events`)).text()
    return text.endsWith('data: end\n\n') ? 'whole' : 'cut'
  })
  const sockets = await Promise.all(
    Array.from({ length: SOCKETS }, async () => {
      const socket = new WebSocket(`${primary.url.replace('http', 'ws')}/s/echo`)
      const closeCodes: unknown[] = []
      socket.on('close', code => closeCodes.push(code))
      await once(socket, 'open')
      return { socket, closeCodes }
    }),
  )

  // Requests at a steady rate over kept connections, on each of which versions may only increase.
  const agents = Array.from(
    { length: shortOrLong(8, 24) },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  )
  t.teardown(() => {
    for (const agent of agents) agent.destroy()
  })
  const outcomes = new Map<string, number>()
  const versions = new Set<number>()
  const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  const sendRequests = async (agent: Agent) => {
    let [socket, lastVersion]: [unknown, number] = [undefined, 0]
    while (!isOver) {
      const start = performance.now()
      const outgoing = request(`${primary.url}/stamp`, { agent }).end()
      const response = await once(outgoing, 'response').then(
        ([each]) => each,
        error => count(`failed: ${error.code}`),
      )
      if (response === undefined) continue
      response.resume()
      await once(response, 'end')
      const version = Number(response.headers['x-tollgate-version'])
      if (outgoing.socket !== socket) [socket, lastVersion] = [outgoing.socket, 0]
      count(
        response.statusCode !== 200
          ? `status ${response.statusCode}`
          : version < lastVersion
            ? 'older'
            : 'served',
      )
      lastVersion = version
      versions.add(version)
      const rest = (1000 * agents.length) / RATE - (performance.now() - start)
      if (rest > 0) await new Promise(resolve => setTimeout(resolve, rest))
    }
  }
  const load = Promise.all(agents.map(sendRequests))

  const start = performance.now()
  for (let edit = 1; edit <= EDITS; edit++) {
    primary.write('routes.yaml', config(`edit-${edit}`))
    const due = start + (edit * 1000) / PER_SECOND
    await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())))
  }
  const last = performance.now()
  await eventually(async () => {
    const body = (await (await fetch(`${primary.url}/stamp`)).json()) as { text: string }
    return body.text === `edit-${EDITS}` || undefined
  })
  const lag = performance.now() - last
  const live = (await primary.config()).version

  for (const { socket } of sockets) {
    socket.send('still there?')
    const [answer] = await once(socket, 'message')
    t.equal(String(answer), 'still there?')
  }
  t.same(
    sockets.flatMap(({ closeCodes }) => closeCodes),
    [],
    'no WebSocket was closed',
  )
  for (const { socket } of sockets) socket.terminate()
  t.same(new Set(await Promise.all(streams)), new Set(['whole']), 'no stream was cut')
  isOver = true
  await load
  t.same([...outcomes.keys()], ['served'], 'no request failed or got an older version')
  const rate = live / (EDITS / PER_SECOND)
  t.comment(
    `${live} versions, ${rate.toFixed(1)}/s; the last was live after ${Math.round(lag)} ms; ${outcomes.get('served')} requests`,
  )
  t.ok(live > EDITS / PER_SECOND / 2)
  if (LONG) t.ok(rate >= 3 && lag <= 1_000)
})

t.test(
  `reload storm: workers killed during reloads end on the last version (SEED=${seed()})`,
  async t => {
    const primary = await startPrimary(t, { files: folderWith('edit-0'), workers: 2 })
    const chance = createChance()
    const edits = shortOrLong(12, 200)
    let kills = shortOrLong(3, 30)
    for (let edit = 1; edit <= edits; edit++) {
      primary.write('routes.yaml', routes(`edit-${edit}`))
      if (kills > 0 && chance() < 0.4) {
        const { workers } = await primary.config()
        const victim = workers[Math.floor(chance() * workers.length)]
        if (victim?.state === 'serving' && kills-- > 0) process.kill(victim.pid, 'SIGKILL')
      }
      await new Promise(resolve => setTimeout(resolve, 50 + chance() * 50))
    }
    await eventually(async () => {
      const { text } = JSON.parse((await getAlone(`${primary.url}/stamp`)).text)
      return text === `edit-${edits}` || undefined
    })
    const { version } = await primary.state(
      view =>
        view.workers.length === 2 &&
        view.workers.every(each => each.state === 'serving' && each.version === view.version) &&
        view.failure === null,
    )
    t.match(await primary.ask('reload'), { outcome: 'unchanged', version })
  },
)
