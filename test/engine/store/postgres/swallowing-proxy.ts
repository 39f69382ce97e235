/** A proxy before PostgreSQL that loses answers: it forwards every byte, until it is told to drop
 *  the answer to a COMMIT. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface SwallowingProxy {
  readonly port: number
  /** Drops all answers on the connection of the next COMMIT; resolves when the server has answered
   *  it. */
  swallow(): Promise<void>
  /** Cuts every connection. */
  cut(): void
}

export const startProxy = async (t: Test, to: number): Promise<SwallowingProxy> => {
  const sockets = new Set<Socket>()
  let swallowing: (() => void) | undefined
  const server = createServer(client => {
    const upstream = connect(to, '127.0.0.1')
    let silent: (() => void) | undefined
    client.on('data', (chunk: Buffer) => {
      if (swallowing && chunk.includes('COMMIT')) {
        silent = swallowing
        swallowing = undefined
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk: Buffer) => {
      if (silent) silent()
      else client.write(chunk)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    cut()
    server.close()
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    swallow: () =>
      new Promise(resolve => {
        swallowing = resolve
      }),
    cut,
  }
}
