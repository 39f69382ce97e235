/** Drains a server: waits for its requests, and cuts those that outlive the grace. */
import type http from 'node:http'
import net from 'node:net'
import type { ActiveRequests } from '../request/request-lifecycle.ts'

const POLL = 10
/** How long clients of cut requests have to read the fault, ms. */
const LAST_READ = 1_000

/** `grace`: ms. */
export const drain = async (
  server: http.Server,
  grace: number,
  requests: ActiveRequests,
): Promise<void> => {
  const deadline = performance.now() + grace
  const isQuiet = (): boolean => requests.size === 0 && requests.flushing === 0
  // The close of node:http would destroy a connection whose reply is still being sent.
  const closed = new Promise<void>(resolve => {
    net.Server.prototype.close.call(server, () => resolve())
  })
  await waitUntil(() => requests.flushing === 0, deadline)
  server.closeIdleConnections()
  await waitUntil(isQuiet, deadline)
  requests.cut()
  await waitUntil(isQuiet, performance.now() + LAST_READ)
  server.close()
  server.closeAllConnections()
  await closed
}

const waitUntil = async (condition: () => boolean, deadline: number): Promise<void> => {
  while (!condition() && performance.now() < deadline)
    await new Promise(resolve => setTimeout(resolve, POLL))
}
