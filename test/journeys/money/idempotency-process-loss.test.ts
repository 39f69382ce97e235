/** Idempotency-Key when a process crashes or loses the store: its claims end after its calls were
 *  stopped, and then at once. */
import t from 'tap'
import { createMembership } from '../../../engine/store/membership.ts'
import { Claims } from '../../../plugins/idempotency/claims.ts'
import { freeKey } from '../../../plugins/idempotency/statements.ts'
import { install, installOn, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { membershipOn } from '../../helpers/store/membership.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

/** Milliseconds. A process that misses three heartbeats loses its claims; this test lets one
 *  stop. */
const HEARTBEAT = 250
/** Milliseconds. For processes that must not miss heartbeats: a busy machine may delay them by a
 *  second. */
const LONG_HEARTBEAT = 800
const NAME = { account: 1, route: 'r', key: 'k' }
const createOwner = (id: string) => {
  const calls = { cut: 0 }
  return { id, calls, cut: () => void calls.cut++ }
}

for (const engine of ENGINES)
  t.test(
    `idempotency claims (${engine}): a process without heartbeats stops its call before another may run it`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      const first = await here.worker({ beat: HEARTBEAT })
      const second = await here.worker({ beat: HEARTBEAT })
      const plain = here.script
      let open = 0
      here.script = (request, response, call) => {
        open++
        request.socket.on('close', () => open--)
        if (call > 1) {
          t.equal(open, 1, 'the first call has ended')
          plain(request, response, call)
        }
      }
      const stoppedCall = post(`${first.url}/a`, 'k')
      await eventually(() => here.calls === 1 || undefined)
      t.equal((await post(`${second.url}/a`, 'k')).status, 409)
      first.silence()
      const again = await eventually(async () => {
        const reply = await post(`${second.url}/a`, 'k')
        return reply.status === 409 ? undefined : reply
      })
      t.equal(again.text, '{"call":2}')
      const { status, text } = await stoppedCall
      t.equal(status, 503)
      t.match(text, /Idempotency-Key could not be stored in time/)
      t.equal((await post(`${second.url}/a`, 'k')).headers.get('idempotent-replayed'), 'true')
    },
  )

for (const engine of ENGINES)
  t.test(
    `idempotency claims (${engine}): a stream ends once its process knows that it was expelled`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      const first = await here.worker({ beat: HEARTBEAT })
      const second = await here.worker({ beat: HEARTBEAT })
      const plain = here.script
      here.script = (request, response, call) => {
        if (call > 1) return plain(request, response, call)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: begun\n\n')
      }
      const headers = { account: '1', 'idempotency-key': 'k', 'content-type': 'application/json' }
      const stream = await fetch(`${first.url}/a`, { method: 'POST', body: '{"a":1}', headers })
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      const chunk = await reader.read()
      t.equal(Buffer.from(chunk.value ?? []).toString(), 'data: begun\n\n')
      const next = reader.read().then(
        ({ value }) => Buffer.from(value ?? []).toString(),
        () => 'cut',
      )
      first.silence()
      const again = await eventually(async () => {
        const reply = await post(`${second.url}/a`, 'k')
        return reply.status === 409 ? undefined : reply
      })
      t.equal(again.text, '{"call":2}', 'another process runs the request')
      const isOpen = await Promise.race([next, new Promise(resolve => setImmediate(resolve))])
      t.equal(isOpen, undefined, 'a stream that has begun goes on while the store is away')
      first.resume()
      t.match(await next, /cut|could not be stored in time/, 'and ends when the loss is certain')
      const replay = await post(`${second.url}/a`, 'k')
      t.equal(replay.headers.get('idempotent-replayed'), 'true')
      t.equal(replay.text, '{"call":2}', 'the key has the response of the second')
    },
  )

t.test(
  'idempotency claims: a process with heartbeats keeps its claim during a long call',
  async t => {
    const here = await install(t)
    const first = await here.worker({ beat: LONG_HEARTBEAT })
    const second = await here.worker({ beat: LONG_HEARTBEAT })
    const finish = Promise.withResolvers<void>()
    const plain = here.script
    here.script = (...call) => void finish.promise.then(() => plain(...call))
    const slow = post(`${first.url}/a`, 'k')
    await eventually(() => here.calls === 1 || undefined)
    const minHeartbeat = async () =>
      Number(
        (await here.database.read(sql('b', 'SELECT min(beat) AS n FROM tollgate_processes'), []))[0]
          ?.n,
      )
    t.equal((await post(`${second.url}/a`, 'k')).status, 409)
    const from = await minHeartbeat()
    await eventually(async () => (await minHeartbeat()) > from + 6 || undefined)
    t.equal((await post(`${second.url}/a`, 'k')).status, 409)
    finish.resolve()
    t.equal((await slow).text, '{"call":1}')
    t.equal((await post(`${second.url}/a`, 'k')).text, '{"call":1}')
  },
)

for (const engine of ENGINES)
  t.test(
    `idempotency claims (${engine}): a reaped process that continues registers again before it claims`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      await here.worker()
      const claims = new Claims(here.database, SILENT_LOG, membershipOn(here.database))
      t.teardown(() => claims.close())
      const one = createOwner('one')
      t.equal(await claims.claim(NAME, 'b', one, 1), undefined)
      await here.database.write([
        { sql: sql('reap', 'DELETE FROM tollgate_processes'), values: [] },
      ])
      t.same(await here.rows(), [], 'its claims were removed with it')
      const two = createOwner('two')
      await t.rejects(claims.claim(NAME, 'b', two, 1), { code: 'IDEMPOTENCY_LOST' })
      t.equal(one.calls.cut, 1, 'its running call is cut')
      t.equal(await claims.claim(NAME, 'b', two, 1), undefined, 'claimed by the new registration')
    },
  )

t.test('idempotency claims: a closing process removes its claims and its membership', async t => {
  const here = await install(t)
  await here.worker()
  const membership = createMembership({ database: here.database, log: SILENT_LOG })
  const claims = new Claims(here.database, SILENT_LOG, membership)
  await claims.claim(NAME, 'b', createOwner('one'), 1)
  await claims.close()
  await membership.close()
  t.same(await here.rows(), [])
  t.same(await here.database.read(sql('p', 'SELECT id FROM tollgate_processes'), []), [])
})

t.test('idempotency claims: a release that failed is repeated when the store returns', async t => {
  const here = await install(t)
  await here.worker()
  const claims = new Claims(here.database, SILENT_LOG, membershipOn(here.database))
  t.teardown(() => claims.close())
  await claims.claim(NAME, 'b', createOwner('one'), 1)
  await here.store.kill()
  claims.release('one', freeKey('one'))
  await here.store.respawn()
  await eventually(async () => (await here.rows()).length === 0 || undefined)
})

t.test(
  'idempotency: without a store a request with a key is refused, one without a key runs',
  async t => {
    const here = await install(t)
    const { url } = await here.worker()
    await here.store.kill()
    const reply = await post(`${url}/a`, 'k')
    t.equal(reply.status, 503)
    t.equal(reply.headers.get('retry-after'), '1')
    t.equal(here.calls, 0)
    t.equal((await post(`${url}/a`, '')).status, 200, 'a request without a key runs')
    await here.store.respawn()
  },
)

t.test('idempotency cleaning: removes old completed claims and keeps open ones', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  const store = { ...here.database, now: async () => Date.now() + here.ahead }
  const claims = new Claims(store, SILENT_LOG, membershipOn(store))
  t.teardown(() => claims.close())
  for (let at = 0; at < 1_203; at += 200)
    await Promise.all(
      Array.from({ length: 200 }, (_, more) =>
        claims.claim({ ...NAME, key: `${at + more}` }, 'b', createOwner(`r${at + more}`), 1),
      ),
    )
  await here.database.write([
    {
      sql: sql(
        'old',
        "UPDATE idempotency_keys SET process = NULL, status = 200, claimed = 0 WHERE key <> '7'",
      ),
      values: [],
    },
  ])
  await post(`${url}/a`, 'recent')
  await claims.clean(new AbortController().signal)
  t.same(
    (await here.rows()).map(({ key }) => key),
    ['7', 'recent'],
    'an open claim stays at any age',
  )
})

t.test(
  'idempotency: a request that was refused without a store runs again when the store returns',
  async t => {
    const here = await install(t)
    const { url } = await here.worker()
    const plain = here.script
    here.script = (...call) => {
      here.script = plain
      void here.store.kill().then(() => plain(...call))
    }
    const reply = await post(`${url}/a`, 'k')
    t.equal(reply.status, 503)
    await here.store.respawn()
    const again = await eventually(async () => {
      const reply = await post(`${url}/a`, 'k')
      return reply.status === 200 ? reply : undefined
    })
    t.equal(again.text, '{"call":2}')
    t.notOk(again.headers.has('idempotent-replayed'))
    t.equal((await post(`${url}/a`, 'k')).headers.get('idempotent-replayed'), 'true')
    t.equal(here.calls, 2)
  },
)
