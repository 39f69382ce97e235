/** A webhook receiver on loopback, over TLS: records its requests and answers as a test decides. */
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { sendDirect } from '../../../engine/egress/direct-send.ts'
import { createEgress } from '../../../engine/egress/egress.ts'
import type { HostBase } from '../../../engine/plugin.ts'
import { scaled } from '../machine-speed.ts'

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders & Record<string, string>
  readonly body: string
}
export interface Receiver {
  readonly port: number
  readonly origin: string
  readonly received: Received[]
  readonly connections: () => number
  /** Resolves when so many requests have come. */
  until(count: number): Promise<void>
}
type Answer = (received: Received, response: ServerResponse, incoming: IncomingMessage) => void

const file = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url))
/** For NODE_EXTRA_CA_CERTS of other processes. */
export const AUTHORITY = file('certificate')
const PATIENCE = scaled(60_000)

/** Makes this process trust the receivers' certificate and no other. It connects to no other
 *  server, and reading the system's certificates costs 0.2 s. */
export const trustReceivers = (): void =>
  tls.setDefaultCACertificates([readFileSync(AUTHORITY, 'utf8')])

export const startReceiver = async (
  t: Pick<Test, 'teardown'>,
  answer: Answer = ok,
  address = '127.0.0.1',
): Promise<Receiver> => {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let connections = 0
  const keys = { key: readFileSync(file('key')), cert: readFileSync(AUTHORITY) }
  const server = createServer(keys, async (incoming, response) => {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const { method = '', url = '', headers } = incoming
    const one = { method, url, headers, body: Buffer.concat(parts).toString() } as Received
    received.push(one)
    answer(one, response, incoming)
    for (const look of waiting) look()
  })
  server.on('connection', socket => {
    connections++
    socket.on('error', () => {})
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, address, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const until = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`${received.length} of ${count} came`)),
        PATIENCE,
      )
      const look = (): void => {
        if (received.length < count) return
        clearTimeout(late)
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return {
    port,
    origin: `https://${address}:${port}`,
    received,
    until,
    connections: () => connections,
  }
}
export const ok: Answer = (_, response) => void response.end('ok')
export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(code, headers).end()

type Outside = Pick<HostBase, 'send' | 'checkUrl' | 'section'>
/** The host members for public addresses; `resolve` replaces the machine's name resolution. */
export const publicAccess = (
  allow: string,
  resolve?: (name: string) => Promise<readonly string[]>,
): Outside => {
  const egress = createEgress(allow, resolve && { resolve })
  return {
    section: <T>() => ({}) as T,
    checkUrl: egress.checkResolvedUrl,
    // Public addresses need only the egress of a snapshot.
    send: async (upstream, outgoing) => sendDirect({ egress } as never, upstream, outgoing),
  }
}
