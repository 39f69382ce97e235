/** Requests of plugins to their own gateway: the address of the client, and what cuts them off. */
import { createServer, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { serveInside } from '../../../engine/egress/inside-request.ts'
import type { InsideRequest } from '../../../engine/plugin.ts'

const serve = (respond: (response: ServerResponse) => void) => {
  const connections: Record<string, unknown>[] = []
  const server = createServer((_, response) => respond(response))
  const acceptInside = (connection: Duplex): void => {
    connections.push(connection as unknown as Record<string, unknown>)
    server.emit('connection', connection)
  }
  const ask = (more: Partial<InsideRequest> = {}) =>
    serveInside({ acceptInside }, {
      method: 'GET',
      path: '/a',
      headers: { host: 'a.example' },
      body: Buffer.alloc(0),
      client: { address: '192.0.2.7', encrypted: false },
      signal: new AbortController().signal,
      ...more,
    } as InsideRequest)
  return { ask, connections }
}

t.test('inside request: comes from the client, with or without TLS', async t => {
  const { ask, connections } = serve(response => response.end('done'))
  const { status, body } = await ask()
  t.equal(status, 200)
  t.equal(await text(body), 'done')
  await ask({ client: { address: '192.0.2.8', encrypted: true } as InsideRequest['client'] })
  t.match(connections, [{ remoteAddress: '192.0.2.7' }, { remoteAddress: '192.0.2.8' }])
  t.same(
    connections.map(({ encrypted }) => encrypted),
    [undefined, true],
  )
})

t.test('inside request: a response that breaks off is a fault', async t => {
  const unanswered = serve(response => response.destroy())
  await t.rejects(unanswered.ask(), { code: 'RESPONSE_CUT', status: 502 })
  const half = serve(response => {
    response.setHeader('content-length', '9')
    response.write('half')
    setImmediate(() => response.destroy())
  })
  const { body } = await half.ask()
  await t.rejects(text(body), { code: 'RESPONSE_CUT' })
})

t.test('inside request: ends with its signal, and needs a process that serves', async t => {
  const control = new AbortController()
  const { ask, connections } = serve(() => control.abort())
  await t.rejects(ask({ signal: control.signal }), { code: 'RESPONSE_CUT' })
  t.equal(connections.length, 1)
  await t.rejects(ask({ signal: AbortSignal.abort(new Error('gone')) }), { message: 'gone' })
  const request = { signal: new AbortController().signal } as InsideRequest
  await t.rejects(serveInside({} as Parameters<typeof serveInside>[0], request), {
    code: 'NOT_SERVING',
  })
})
