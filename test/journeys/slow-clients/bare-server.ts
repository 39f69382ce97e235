/** A program: Node's own HTTP server with the gateway's timeouts for slow clients. Sends its port
 *  over IPC. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const HEADER = 15_000
const BODY = 10_000

const waiting = new Map<IncomingMessage, { readonly since: number; refuse(): void }>()
const accept = (incoming: IncomingMessage, response: ServerResponse): void => {
  const parts: Buffer[] = []
  const leave = (): boolean => waiting.delete(incoming)
  waiting.set(incoming, {
    since: performance.now(),
    refuse() {
      leave()
      response.writeHead(408, { connection: 'close' }).end()
    },
  })
  incoming.on('data', part => parts.push(part))
  incoming.on('error', leave)
  incoming.on('end', () => {
    leave()
    response.end('{"ok":true}')
  })
}
setInterval(() => {
  const now = performance.now()
  for (const { since, refuse } of waiting.values()) if (now - since > BODY) refuse()
}, 1_000)
const server = createServer({ headersTimeout: HEADER, connectionsCheckingInterval: 1_000 }, accept)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
