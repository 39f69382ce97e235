/** A free port for a program that cannot choose one itself. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** A free port below those that the system gives to connections and to listeners without a port:
 *  nothing else takes it before the program listens, or while the program is restarted. */
export const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const port = randomInt(12_000, 32_000)
    const server = createServer()
    server.once('error', () => resolve(freePort()))
    server.listen(port, '127.0.0.1', () => void server.close(() => resolve(port)))
  })
