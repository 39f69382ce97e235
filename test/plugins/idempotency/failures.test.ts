/** Idempotency-Key after a failed first call: the key is freed, but not while the first call may
 *  still run. */
import { request as httpRequest } from 'node:http'
import t from 'tap'
import type { Plugin, Stage } from '../../../engine/plugin.ts'
import { STREAM_ERRORED } from '../../../plugins/slots.ts'
import { codeOf, install, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { pluginOf } from '../../helpers/gateway/test-server.ts'
import { sql, statement } from '../../helpers/store/store.ts'

t.test('idempotency: a retryable response is not stored', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  const plain = here.script
  for (const status of [408, 409, 425, 429, 500, 502, 503, 504, 529]) {
    here.script = (_, response) => void response.writeHead(status).end('{}')
    t.equal((await post(`${url}/a`, `k${status}`)).status, status)
    here.script = plain
    const again = await post(`${url}/a`, `k${status}`)
    t.equal(again.status, 200, `after ${status}, at once`)
    t.notOk(again.headers.has('idempotent-replayed'))
  }
})

t.test('idempotency: a final error response is stored', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  for (const status of [400, 403, 404, 410, 413, 422]) {
    here.script = (_, response) => void response.writeHead(status).end('{"no":1}')
    await post(`${url}/a`, `k${status}`)
    const again = await post(`${url}/a`, `k${status}`)
    t.equal(again.status, status)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
  }
  t.equal(here.calls, 6)
})

t.test(
  'idempotency: the key is freed when the upstream fails before or within its response',
  async t => {
    const here = await install(t)
    const { url } = await here.worker()
    const plain = here.script
    here.script = (request, _response) => void request.socket.destroy()
    t.equal((await post(`${url}/a`, 'early')).status, 502)
    here.script = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      setImmediate(() => request.socket.destroy())
    }
    await post(`${url}/a`, 'late').catch(() => undefined)
    here.script = plain
    for (const key of ['early', 'late']) {
      const again = await post(`${url}/a`, key)
      t.equal(again.status, 200)
      t.notOk(again.headers.has('idempotent-replayed'), key)
    }
  },
)

const stage = (stage: Stage): Plugin => pluginOf(stage)

t.test('idempotency: a stream with an error event frees the key', async t => {
  const here = await install(t)
  const breaks = stage({
    async handle(exchange, next) {
      await next()
      exchange.reply.through({
        end(tail, out) {
          exchange.slots.set(STREAM_ERRORED, true)
          out.end(tail)
        },
      })
    },
  })
  const { url } = await here.worker({ stages: { breaks } })
  t.equal((await post(`${url}/a`, 'k')).text, '{"call":1}')
  t.equal((await post(`${url}/a`, 'k')).text, '{"call":2}')
})

t.test('idempotency: a fault of a later stage and a refused hold free the key', async t => {
  const here = await install(t)
  let how = 'throw'
  const refuses = stage({
    handle(exchange, next) {
      const insufficient = Object.assign(new Error('no money'), {
        code: 'INSUFFICIENT',
        status: 403,
        expose: true,
      })
      if (how === 'throw') throw insufficient
      if (how === 'hold')
        exchange.writes.add(
          statement('hold', 'DELETE FROM idempotency_keys WHERE 1 = 0', [], {
            rows: 1,
            otherwise: 'INSUFFICIENT',
          }),
        )
      return next()
    },
  })
  const { url } = await here.worker({ stages: { refuses } })
  for (how of ['throw', 'hold']) {
    t.equal(codeOf(await post(`${url}/a`, how)), 'insufficient_user_quota', how)
  }
  how = ''
  for (const key of ['throw', 'hold'])
    await eventually(async () => {
      const { status } = await post(`${url}/a`, key)
      t.ok([200, 409].includes(status))
      return status === 200 || undefined
    })
})

t.test('idempotency: response and settlement are stored together or not at all', async t => {
  const here = await install(t)
  await here.database.migrate('test', [
    { number: 1, text: 'CREATE TABLE charges (request TEXT PRIMARY KEY)' },
  ])
  let settles = 'INSERT INTO charges (request) VALUES (?)'
  const meter = stage({
    async handle(exchange, next) {
      await next()
      exchange.reply.through({
        end(tail, out) {
          exchange.writes.add(
            statement('settle', settles, [exchange.id], { rows: 1, otherwise: 'CHARGE_CLOSED' }),
          )
          out.end(tail)
        },
      })
    },
  })
  const { url } = await here.worker({ stages: { meter } })
  const charges = async () =>
    (await here.database.read(sql('charges', 'SELECT request FROM charges'), [])).length
  settles = 'DELETE FROM charges WHERE request = ?'
  t.not((await post(`${url}/a`, 'k')).status, 200)
  settles = 'INSERT INTO charges (request) VALUES (?) '
  const again = await eventually(async () => {
    const reply = await post(`${url}/a`, 'k')
    return reply.status === 200 ? reply : undefined
  })
  t.equal(again.text, '{"call":2}')
  t.equal(await charges(), 1)
  for (let times = 0; times < 5; times++) t.equal((await post(`${url}/a`, 'k')).text, again.text)
  t.equal(await charges(), 1, 'billed once')
})

t.test('idempotency: a client that disconnected can run its request again', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  const plain = here.script
  const requestArrived = Promise.withResolvers<void>()
  const clientGone = Promise.withResolvers<void>()
  here.script = request => {
    requestArrived.resolve()
    request.socket.on('close', () => clientGone.resolve())
  }
  const headers = { 'idempotency-key': 'k', account: '1', 'content-type': 'application/json' }
  const leaving = httpRequest(`${url}/a`, { method: 'POST', headers }).on('error', () => {})
  leaving.end('{"a":1}')
  await requestArrived.promise
  t.equal((await post(`${url}/a`, 'k')).status, 409)
  leaving.destroy()
  await clientGone.promise
  here.script = plain
  const again = await eventually(async () => {
    const reply = await post(`${url}/a`, 'k')
    return reply.status === 200 ? reply : undefined
  })
  t.equal(again.text, '{"call":2}')
})
