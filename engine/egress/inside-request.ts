/** Requests that plugins make to this gateway itself, in the name of a client: over a connection
 *  inside the process, so that they pass everything that a client's request passes. */
import type { IncomingMessage } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import { errors } from '../errors.ts'
import type { Headers, InsideRequest, InsideResponse } from '../plugin.ts'
import type { Resources } from '../snapshot/resources.ts'

const fault = errors({
  NOT_SERVING: [503, 'This process serves no requests.'],
  RESPONSE_CUT: [502, 'The response broke off.'],
})

export const serveInside = async (
  { acceptInside }: Pick<Resources, 'acceptInside'>,
  { method, path, headers, body, client, signal }: InsideRequest,
): Promise<InsideResponse> => {
  if (!acceptInside) throw fault('NOT_SERVING')
  signal.throwIfAborted()
  const { request } = process.getBuiltinModule('node:http')
  const connection = connectAs(client, acceptInside)
  const leave = (): void => void connection.destroy()
  signal.addEventListener('abort', leave)
  connection.once('close', () => signal.removeEventListener('abort', leave))
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request({
    method,
    path,
    // Without `close` the response tells by its own `connection` whether the gateway drains.
    headers: { ...headers, connection: 'keep-alive', 'content-length': String(body.length) },
    createConnection: () => connection,
  })
    .on('response', resolve)
    .on('error', reject)
    .end(body)
  const response = await promise.catch(cause => {
    throw fault('RESPONSE_CUT', [], { cause })
  })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers as Headers,
    body: readBody(response, connection),
  }
}

async function* readBody(response: IncomingMessage, connection: Duplex) {
  try {
    for await (const chunk of response) yield chunk as Buffer
  } catch (cause) {
    throw fault('RESPONSE_CUT', [], { cause })
  } finally {
    connection.destroy()
  }
}

/** A connection whose far end looks like the client's to the server. */
const connectAs = (client: InsideRequest['client'], accept: (far: Duplex) => void): Duplex => {
  const [near, far] = duplexPair()
  // The plugin reads at the pace of its client: the deadline of that client's socket counts.
  const setTimeout = (): Duplex => far
  const { address: remoteAddress, encrypted } = client
  Object.assign(far, { remoteAddress, setTimeout, ...(encrypted && { encrypted }) })
  near.on('error', () => {}).once('close', () => far.destroy())
  far.on('error', () => {}).once('close', () => near.destroy())
  accept(far)
  return near
}
