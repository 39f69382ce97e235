/** Sends single requests through the engine's own HTTP client, without routes or stages, and
 *  starts upstreams that answer with exact bytes. */
import net, { type AddressInfo, type Socket } from 'node:net'
import tap, { type Test } from 'tap'
import { type ConnectionOptions, openConnector } from '../../../engine/egress/connector.ts'
import { GeneralPool } from '../../../engine/egress/general-pool.ts'
import { Pool } from '../../../engine/http-client/pool.ts'
import type { Request } from '../../../engine/http-client/request-head.ts'
import type { ResponseHeaders } from '../../../engine/http-client/response-head.ts'
import type { Fault } from '../../../engine/plugin.ts'
import type { FilteredReply } from '../../../engine/response/filters.ts'
import { Origin } from '../../../engine/upstream/origin.ts'
import { type Sending, send } from '../../../engine/upstream/transport.ts'

export const CLIENT_GONE: Fault = { code: 'GONE', message: 'gone', status: 499, expose: true }
export const HEALTH = { failures: 2, eject: 60_000 }
export const LONG_DEADLINES = {
  connect: 10_000,
  first_byte: 60_000,
  first_content: 60_000,
  preamble: 60_000,
  idle: 60_000,
}

/** Opens an origin at this address; returns it with a function that sends to it. `connection`:
 *  through the pool over undici. */
export const openOrigin = (
  t: Test,
  address: string,
  connections = 2,
  connection?: ConnectionOptions,
) => {
  const open = () => openConnector(new URL(address), connection ?? {}, 10_000)
  const pool = connection && new GeneralPool(address, connections, open)
  const origin = new Origin(address, { connect: 10_000, connections }, undefined, pool)
  t.teardown(() => {
    if (origin.pool instanceof Pool) origin.pool.destroy()
    else void origin.close()
  })
  const sending: Sending = {
    origin,
    upstream: 'up',
    method: 'GET',
    path: '/',
    headers: {},
    body: undefined,
    deadlines: LONG_DEADLINES,
    health: HEALTH,
    idempotent: true,
  }
  const ask = (more: Partial<Sending> = {}, aborter = (_: (reason: Fault) => void): void => {}) =>
    new Promise<FilteredReply>((resolve, reject) =>
      send(
        { ...sending, ...more },
        { awaitAttempt: attempt => aborter(reason => attempt.abort(reason)) },
        resolve,
        reject,
      ),
    )
  return { origin, ask }
}
type Open = (t: Test, address: string, connections?: number) => ReturnType<typeof openOrigin>
/** A test of both clients: the one of the hot path, and undici. */
export const testClients = (title: string, run: (t: Test, open: Open) => Promise<void>): void => {
  for (const [client, connection] of [['own'], ['undici', {}]] as const)
    tap.test(`${title} [${client} client]`, t =>
      run(t, (t, address, connections) => openOrigin(t, address, connections, connection)),
    )
}
export const readText = async (answer: FilteredReply): Promise<string> =>
  Buffer.from(await answer.bytes(1_000_000)).toString()
/** Records what a reply's body does, in order. */
export const recordBody = (
  answer: FilteredReply,
): { readonly log: string[]; readonly over: Promise<void> } => {
  const log: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const note = (line: string): void => void log.push(line)
  answer.pipeTo({
    write: chunk => note(Buffer.from(chunk).toString()),
    end(tail) {
      note(`end ${tail ? Buffer.from(tail).toString() : ''}`)
      resolve()
    },
    fail(reason) {
      note(`fail ${reason.code}`)
      resolve()
    },
  })
  return { log, over: promise }
}

interface PoolReply {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}
const GET: Request = { method: 'GET', path: '/', headers: {}, body: undefined }

export const sendThroughPool = (pool: Pool, request: Partial<Request> = {}): Promise<PoolReply> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let head: Pick<PoolReply, 'status' | 'headers'> = { status: 0, headers: {} }
    pool.send(
      { ...GET, ...request },
      {
        over: false,
        onStart() {},
        onHead(status, headers) {
          head = { status, headers: { ...headers } }
        },
        onData: chunk => void chunks.push(chunk),
        onEnd(tail) {
          if (tail) chunks.push(tail)
          resolve({ ...head, body: Buffer.concat(chunks).toString('latin1') })
        },
        onError: reject,
      },
    )
  })

interface ByteUpstream {
  readonly url: string
  readonly port: number
  /** Heads of the requests so far, in order, each with the part of its body that came with it. */
  readonly requests: readonly string[]
  /** Number of connections so far. */
  readonly connections: number
  /** Resolves when so many connections have ended. */
  connectionsEnded(count: number): Promise<void>
}

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** Calls `answer` for each request and writes the text that it returns; `onConnection` for each
 *  connection, before its first request. */
export const startByteUpstream = async (
  t: Test,
  answer: (socket: Socket, request: string, count: number) => string | undefined,
  onConnection?: (socket: Socket) => unknown,
): Promise<ByteUpstream> => {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let endedCount = 0
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const server = net.createServer(socket => {
    connections++
    sockets.add(socket)
    onConnection?.(socket)
    let received = ''
    socket.on('data', part => {
      received += part.toString('latin1')
      if (!received.includes('\r\n\r\n')) return
      requests.push(received)
      received = ''
      const text = answer(socket, requests.at(-1) ?? '', requests.length)
      if (text !== undefined) socket.write(text)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      endedCount++
      sockets.delete(socket)
      for (const each of waiting) if (endedCount >= each.count) each.resolve()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections
    },
    connectionsEnded: count =>
      new Promise(resolve => {
        if (endedCount >= count) resolve()
        else waiting.push({ count, resolve })
      }),
  }
}
