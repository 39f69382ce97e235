/** An upstream in this process that answers with bytes: what a well-behaved server would never send. */
import net, { type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface Scripted {
  readonly url: string
  readonly port: number
  /** Heads of the requests seen so far, in order; each with what of its body came along. */
  readonly requests: readonly string[]
  /** Connections taken so far. */
  readonly connections: number
  /** Resolves when this many connections have ended. */
  ended(count: number): Promise<void>
}

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** `answer` is called per request; text that it returns is written. */
export const startScripted = async (
  t: Test,
  answer: (socket: Socket, request: string, count: number) => string | undefined,
): Promise<Scripted> => {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let ended = 0
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const server = net.createServer(socket => {
    connections++
    sockets.add(socket)
    let seen = ''
    socket.on('data', part => {
      seen += part.toString('latin1')
      if (!seen.includes('\r\n\r\n')) return
      requests.push(seen)
      seen = ''
      const text = answer(socket, requests.at(-1) ?? '', requests.length)
      if (text !== undefined) socket.write(text)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      ended++
      sockets.delete(socket)
      for (const each of waiting) if (ended >= each.count) each.resolve()
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
    ended: count =>
      new Promise(resolve => {
        if (ended >= count) resolve()
        else waiting.push({ count, resolve })
      }),
  }
}
