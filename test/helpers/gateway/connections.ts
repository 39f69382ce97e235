/** Servers that are reached in other ways: a CONNECT proxy, client certificates, HTTP/2. */
import { readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2, { type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import https from 'node:https'
import net, { type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { WebSocketServer } from 'ws'
import { listen } from './chat-upstream.ts'

const pem = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url)), 'utf8')
/** Certificate and key of servers at 127.0.0.1 and localhost: an authority that nothing trusts by
 *  default. */
export const SERVER = { cert: pem('private-certificate'), key: pem('private-key') }
/** Certificate and key of a client, issued by that authority. */
export const CLIENT = { cert: pem('client-certificate'), key: pem('client-key') }

type Incoming = IncomingMessage | Http2ServerRequest
export type Listener = (incoming: Incoming, response: ServerResponse) => void

export const startHttps = async (t: Test, listener: Listener, options: https.ServerOptions = {}) =>
  `https://127.0.0.1:${await listen(t, https.createServer({ ...SERVER, ...options }, listener))}`

/** `isPlain`: without TLS. */
export const startHttp2 = async (t: Test, listener: Listener, isPlain = false) => {
  // The responses of both versions have the members that tests use.
  const respond = listener as unknown as (_: Http2ServerRequest, __: Http2ServerResponse) => void
  const server = isPlain
    ? http2.createServer(respond)
    : http2.createSecureServer({ ...SERVER }, respond)
  return `http${isPlain ? '' : 's'}://127.0.0.1:${await listen(t, server)}`
}

/** A WebSocket server that sends every message back. */
export const startEcho = async (t: Test, isSecure: boolean): Promise<string> => {
  const server = isSecure ? https.createServer(SERVER) : http.createServer()
  new WebSocketServer({ server }).on('connection', socket => {
    socket.on('message', message => socket.send(message.toString()))
  })
  return `http${isSecure ? 's' : ''}://127.0.0.1:${await listen(t, server)}`
}

/** Destroys the connection of a request. */
export const destroyConnection = (incoming: Incoming): void => {
  if ('stream' in incoming) incoming.stream.session?.destroy()
  else incoming.socket.destroy()
}

interface Tunnel {
  readonly target: string | undefined
  readonly credential: string | undefined
}
/** A proxy that opens tunnels. `answer`: the status instead of a tunnel, or nothing at all. */
export const startProxy = async (t: Test, answer?: () => number | undefined) => {
  const tunnels: Tunnel[] = []
  const server = http.createServer((_, response) => response.writeHead(405).end())
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Socket) => {
    tunnels.push({ target: url, credential: headers['proxy-authorization'] })
    client.on('error', () => {})
    const status = answer ? answer() : 200
    if (status === undefined) return void client.destroy()
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
    const { hostname, port } = new URL(`http://${url}`)
    const upstream = net.connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
  })
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, tunnels }
}
