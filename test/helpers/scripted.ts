/** An upstream in this process that answers with exact bytes, also ones that no correct server
 *  sends. */
import net, { type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface ByteUpstream {
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

/** Calls `answer` for each request and writes the text that it returns. */
export const startByteUpstream = async (
  t: Test,
  answer: (socket: Socket, request: string, count: number) => string | undefined,
): Promise<ByteUpstream> => {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let endedCount = 0
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const server = net.createServer(socket => {
    connections++
    sockets.add(socket)
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
