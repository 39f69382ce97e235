/** The webhook receiver of a chaos run: records each event, its account and whether its signature
 *  is valid. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { AUTHORITY } from '../helpers/receiver.ts'
import { SECRET } from '../helpers/webhooks.ts'
import type { SinkEvent } from './checker.ts'

export interface Sink {
  readonly port: number
  readonly log: readonly SinkEvent[]
  urlOf(account: number): string
  close(): void
}

export const startSink = async (): Promise<Sink> => {
  const log: SinkEvent[] = []
  const key = readFileSync(AUTHORITY.replace('certificate', 'key'))
  const server = createServer({ key, cert: readFileSync(AUTHORITY) }, async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts).toString()
    const id = String(request.headers['webhook-id'])
    log.push({
      account: Number(request.url?.slice(1)),
      id,
      body,
      hasValidSignature: isSigned(body, request.headers),
    })
    response.end('ok')
  })
  server.on('connection', socket => socket.on('error', () => {}))
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    log,
    urlOf: account => `https://127.0.0.1:${port}/${account}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
const isSigned = (body: string, headers: object): boolean => {
  try {
    new Webhook(SECRET).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
