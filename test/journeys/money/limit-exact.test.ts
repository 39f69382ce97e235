/** Limits across workers: exactly N requests pass whichever worker gets them, and a killed worker's
 *  concurrency is returned. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { workersOf } from '../../helpers/process-tree.ts'

const upstream = await startUpstream()
const gateway = await startGateway({
  env: { WORKERS: '2' },
  routes: `
pipeline: [errors, auth, limit]
upstreams: { raw: { url: '${upstream.url}', connections: 1000 } }
routes:
  - { path: 'GET /fast/{name}', upstream: raw, rewrite: '/s/{name}', auth: key, limit: { requests: 37/h } }
  - { path: 'POST /fast/{name}', upstream: raw, rewrite: '/s/{name}', auth: key, limit: { tokens: 230/h } }
  - { path: 'GET /slow/{name}', upstream: raw, rewrite: '/s/{name}', auth: key, limit: { concurrency: 9 } }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
const headers = { authorization: `Bearer ${await gateway.key()}` }
// Each request uses its own connection, so both workers get some.
const get = async (path: string, body?: string): Promise<number> => {
  const response = await fetch(gateway.url + path, {
    ...(body !== undefined && { method: 'POST', body }),
    headers: { ...headers, connection: 'close' },
  })
  await response.arrayBuffer()
  return response.status
}
const many = (path: string, count: number, body?: string) =>
  Promise.all(Array.from({ length: count }, () => get(path, body).catch(() => 0)))
const count = (statuses: readonly number[], status: number) =>
  statuses.filter(each => each === status).length

t.test('request limit: exact across two workers', async t => {
  await upstream.script('ok', [
    { do: 'send', bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
  ])
  const statuses = await many('/fast/ok', 120)
  t.equal(count(statuses, 200), 37)
  t.equal(count(statuses, 429), 83)
})

t.test('token limit: exact by the estimate when the upstream reports no usage', async t => {
  const statuses = await many('/fast/ok', 120, 'x'.repeat(40))
  t.equal(count(statuses, 200), 23)
  t.equal(count(statuses, 429), 97)
})

t.test(
  'concurrency limit: exact across workers, and freed when the workers are killed',
  async t => {
    await upstream.script('gate', [
      { do: 'gate', name: 'go' },
      { do: 'send', bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
    ])
    const countRequests = async () => (await upstream.events('request', 'gate')).length
    const firstWave = startWave()
    t.equal(await firstWave.refused, 31)
    while ((await countRequests()) < 9) await pause(10)
    for (const pid of workersOf(gateway.pid)) process.kill(pid, 'SIGKILL')
    t.equal(count(await firstWave.all, 0), 9, 'lost with their workers')
    while ((await get('/nowhere').catch(() => 0)) !== 404) await pause(20)
    const secondWave = startWave()
    t.equal(await secondWave.refused, 31)
    await upstream.open('go')
    t.equal(count(await secondWave.all, 200), 9)
    t.equal(await countRequests(), 18)
  },
)

/** Sends forty requests, of which nine wait at the gate. `refused` resolves with the number of 429s
 *  after the other 31 are answered. */
const startWave = () => {
  const refusals = Promise.withResolvers<number>()
  let answerCount = 0
  let tooMany = 0
  const one = async (): Promise<number> => {
    const status = await get('/slow/gate').catch(() => 0)
    if (status === 429) tooMany++
    if (++answerCount === 31) refusals.resolve(tooMany)
    return status
  }
  return { all: Promise.all(Array.from({ length: 40 }, one)), refused: refusals.promise }
}
