/** Sends one request to an address that the operator configured, such as that of an identity
 *  provider: no egress rules, no redirects, one connection per request unless a request asks for a
 *  kept one. */
import { Readable } from 'node:stream'
import type { Client } from 'undici'
import type { OperatorRequest, OperatorResponse, SendToOperator } from '../plugin.ts'
import { decodeReply } from '../response/decoded-source.ts'
import { FilteredReply } from '../response/filters.ts'
import { responseHeaders } from '../response/headers.ts'
import { openConnector } from './connector.ts'
import { sendMail } from './operator-mail.ts'

/** Most bytes of a response. */
const LIMIT = 1024 * 1024

/** `proxy`: that of an upstream. Loads undici at the first request. */
export const createOperatorRequest = (proxy?: string): SendToOperator => {
  /** Clients that no request uses, with kept connections, by their origins; each closes an idle
   *  connection by itself. */
  const clients = new Map<string, OpenClient[]>()
  return async (url, request) => {
    const address = new URL(url)
    const { timeout, direct = false } = request
    const open = () => openClient(address, direct ? undefined : proxy || undefined, timeout)
    if (!request.keepAlive) {
      const own = await open()
      return send(own, address, request).finally(own.end)
    }
    const unused = clients.getOrInsertComputed(`${address.origin} ${direct}`, () => [])
    // Requests at the same time have a client each: a slow response holds up no other request.
    const client = unused.pop() ?? (await open())
    try {
      const response = await send(client, address, request)
      unused.push(client)
      return response
    } catch (error) {
      await client.end()
      throw error
    }
  }
}

interface OpenClient {
  readonly client: Client
  end(): Promise<void>
}
/** `timeout`: ms for each connection. */
const openClient = async (
  address: URL,
  proxy: string | undefined,
  timeout: number,
): Promise<OpenClient> => {
  const connector = await openConnector(address, { proxy }, timeout)
  const { Client } = await import('undici')
  const client = new Client(address.origin, {
    maxResponseSize: LIMIT,
    connect: (_, callback) => connector.connect(callback),
  })
  const end = async (): Promise<void> => {
    await client.destroy()
    connector.close()
  }
  return { client, end }
}
const send = async (
  { client }: OpenClient,
  { pathname, search, host }: URL,
  { method, headers, body, timeout }: OperatorRequest,
): Promise<OperatorResponse> => {
  const signal = AbortSignal.timeout(timeout)
  const path = pathname + search
  const response = await client.request({ method, path, headers, body: body ?? null, signal })
  const fields = responseHeaders(response.headers)
  // The body is read before it is decoded: errors of the connection keep their names.
  const encoded = Readable.from([Buffer.from(await response.body.arrayBuffer())])
  const reply = decodeReply(new FilteredReply(response.statusCode, fields, encoded), host)
  const bytes = await reply.bytes(LIMIT)
  const text = new TextDecoder().decode(bytes)
  return { status: reply.status, headers: reply.headers, bytes, text }
}

/** Members of a host that reach servers of the operator. */
export const OPERATOR_ACCESS = { request: createOperatorRequest(), mail: sendMail }
