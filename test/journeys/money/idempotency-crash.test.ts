/** Idempotency-Key across kill -9: of the workers during a call, and of all processes after it. */
import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually, type Primary, startPrimary } from '../../helpers/gateway/primary.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.stop())
const files = {
  'routes.yaml': `settings:
  listen: \${HOST}:\${PORT}
  admin: 127.0.0.1:\${ADMIN_PORT}
  workers: \${WORKERS}
  plugins: ['${fileURLToPath(new URL('../../../plugins', import.meta.url))}']
pipeline: [errors, auth, idempotency]
upstreams: { raw: { url: '${upstream.url}' } }
routes:
  - { path: 'POST /{name}', upstream: raw, rewrite: '/s/{name}', auth: key, idempotency: true }
`,
}
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'
let secret = ''

const post = async ({ url }: Primary, path: string) => {
  const response = await postTo(url + path, '{}', {
    ...bearer(secret),
    connection: 'close',
    'idempotency-key': 'k',
  })
  const replayed = response.headers.get('idempotent-replayed')
  return { status: response.status, replayed, text: await response.text() }
}
const pidsOf = async (primary: Primary) =>
  (await primary.config()).workers.map(({ pid }) => pid).filter(pid => pid !== undefined)
const writerPidOf = ({ child: { pid } }: Primary): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const isWriter = (each: string) =>
    /\/writer\.(?:ts|cjs)/.test(readFileSync(`/proc/${each}/cmdline`, 'utf8'))
  return Number(children.find(isWriter))
}

t.test(
  'idempotency: a call cut by kill -9 runs once more, and its response survives a restart',
  async t => {
    const primary = await startPrimary(t, { files, workers: 2 })
    await primary.until(/API key/)
    secret = /\b(sk-[A-Za-z0-9]{20,})/.exec(primary.messages())?.[1] ?? ''
    const calls = async () => (await upstream.events('request', 'gate')).length
    await upstream.script(
      'gate',
      [{ do: 'body' }, { do: 'stall' }],
      [{ do: 'body' }, { do: 'send', bytes: OK }],
    )

    const first = post(primary, '/gate').catch(() => 'connection lost')
    await upstream.until('request', ({ script }) => script === 'gate')
    const conflict = await post(primary, '/gate')
    t.equal(conflict.status, 409)
    for (const pid of await pidsOf(primary)) process.kill(pid, 'SIGKILL')
    t.equal(await first, 'connection lost')
    const statuses = new Set<number>()
    const retry = await eventually(async () => {
      const reply = await post(primary, '/gate').catch(() => undefined)
      if (reply) statuses.add(reply.status)
      if (reply?.status === 409) await later(100)
      return reply?.status === 200 ? reply : undefined
    })
    // In flight until its process is reaped, which may be before the next worker serves.
    t.same(
      [...statuses].filter(status => status !== 409),
      [200],
    )
    t.equal(retry.text, 'ok')
    t.equal(retry.replayed, null, 'the lost call was not stored as a response')
    t.equal(await calls(), 2)

    const all = [primary.child.pid ?? 0, writerPidOf(primary), ...(await pidsOf(primary))]
    for (const pid of all) process.kill(pid, 'SIGKILL')
    await primary.exitCode()
    const { folder } = primary
    const next = await startPrimary(t, { files, workers: 2, folder, prepare: removeRunFile })
    const replay = await eventually(() => post(next, '/gate').catch(() => undefined))
    t.same(replay, { status: 200, replayed: 'true', text: 'ok' })
    t.equal(await calls(), 2)
  },
)

/** Removes the run file, which names the address of the killed gateway. */
const removeRunFile = (folder: string): void => rmSync(`${folder}/data/run.json`, { force: true })
