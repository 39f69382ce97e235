/** Limits over real workers: exactly N whoever is asked, and what a killed worker held comes back. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'

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
// Each on a connection of its own, so that both workers have some.
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

t.test('requests', async t => {
  await upstream.script('ok', [
    { do: 'send', bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
  ])
  const statuses = await many('/fast/ok', 120)
  t.equal(count(statuses, 200), 37)
  t.equal(count(statuses, 429), 83)
})

t.test('tokens, which nobody counts: as many as were thought', async t => {
  const statuses = await many('/fast/ok', 120, 'x'.repeat(40))
  t.equal(count(statuses, 200), 23)
  t.equal(count(statuses, 429), 97)
})

t.test('concurrency, and workers that die while they hold all of it', async t => {
  await upstream.script('gate', [
    { do: 'gate', name: 'go' },
    { do: 'send', bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
  ])
  const reached = async () => (await upstream.seen('request', 'gate')).length
  const first = wave()
  t.equal(await first.refused, 31)
  while ((await reached()) < 9) await pause(10)
  for (const pid of workersOf(gateway.pid)) process.kill(pid, 'SIGKILL')
  t.equal(count(await first.all, 0), 9, 'cut with their workers')
  while ((await get('/nowhere').catch(() => 0)) !== 404) await pause(20)
  const second = wave()
  t.equal(await second.refused, 31)
  await upstream.open('go')
  t.equal(count(await second.all, 200), 9)
  t.equal(await reached(), 18)
})

/** Forty requests of which nine wait at the gate; `refused` counts the others, once they are all answered. */
const wave = () => {
  const refused = Promise.withResolvers<number>()
  let answered = 0
  let tooMany = 0
  const one = async (): Promise<number> => {
    const status = await get('/slow/gate').catch(() => 0)
    if (status === 429) tooMany++
    if (++answered === 31) refused.resolve(tooMany)
    return status
  }
  return { all: Promise.all(Array.from({ length: 40 }, one)), refused: refused.promise }
}

/** Processes that the primary runs as workers. */
const workersOf = (primary: number): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        const parent = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
        return (
          Number(parent) === primary &&
          /worker\.ts/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
        )
      } catch {
        return false
      }
    })
