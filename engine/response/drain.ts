/** Shuts a server down in good order. Knows time and connections; who is under way is the caller's to say. */
import type http from 'node:http'
import net from 'node:net'

export interface Crowd {
  /** Exchanges under way. */
  readonly open: number
  /** Replies that have ended and are still on their way to slow readers. */
  readonly flushing: number
  /** Ends those that outlived the grace. */
  cut(): void
}

const TICK = 10
/** How long a client that was told of the end of everything has to read it, ms. */
const LAST_WORDS = 1_000

export const drain = async (server: http.Server, grace: number, crowd: Crowd): Promise<void> => {
  const until = performance.now() + grace
  const quiet = (): boolean => crowd.open === 0 && crowd.flushing === 0
  // Not http's own close: that takes a connection for idle, and destroys it, whose reply is still on its way.
  const closed = new Promise<void>(resolve => {
    net.Server.prototype.close.call(server, () => resolve())
  })
  await waitFor(() => crowd.flushing === 0, until)
  server.closeIdleConnections()
  await waitFor(quiet, until)
  crowd.cut()
  await waitFor(quiet, performance.now() + LAST_WORDS)
  server.close()
  server.closeAllConnections()
  await closed
}

const waitFor = async (reached: () => boolean, until: number): Promise<void> => {
  while (!reached() && performance.now() < until)
    await new Promise(resolve => setTimeout(resolve, TICK))
}
