/** The connections to one address: idle ones, and the queue of requests that wait for one. */
import type { Socket } from 'node:net'
import { afterRead, type Connect, connect, type Endpoint, endpointOf, UNASKED } from './connect.ts'
import { Connection, type ConnectionOwner, type ResponseHandler } from './connection.ts'
import { formatHead, type Request, type RequestHead } from './request-head.ts'

export interface PoolOptions {
  /** ms within which a connection must be established. */
  readonly connect: number
  /** Most connections at once. */
  readonly connections: number
  /** Opens sockets in place of `node:net`: by a proxy, or with own certificates. */
  readonly connector?: Connect
}
interface QueuedRequest {
  readonly head: RequestHead
  readonly request: Request
  readonly handler: ResponseHandler
}

/** How long an idle connection is kept, ms: `usual` without a Keep-Alive header, otherwise `margin`
 *  less than the header says, `most` at most. Most servers close after five seconds, and a request
 *  that is sent while its connection closes is lost. */
export const KEEP_IDLE_MS = { usual: 4_000, most: 600_000, margin: 2_000 }
const SWEEP_EVERY = 1_000
/** ms after stray bytes for which each connection is used once: further stray bytes could pass for
 *  the response to its next request. */
const SINGLE_USE = 60_000
/** Length of the queue at which abandoned requests are removed. */
const QUEUE_CHECK = 64
/** Shared by all connections: each copies its bytes out before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

export class Pool implements ConnectionOwner {
  readonly #options: PoolOptions
  readonly #endpoint: Endpoint
  /** For the Host header. */
  readonly #host: string
  readonly #connect: Connect
  readonly #open = new Set<Connection>()
  /** The longest idle one is used next: a close by its upstream had the most time to arrive. */
  readonly #idle: Connection[] = []
  readonly #releasedConnections: Connection[] = []
  #queue: QueuedRequest[] = []
  #queueCheck = QUEUE_CHECK
  #session: Buffer | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #connecting = 0
  #waitsForTurnEnd = false
  #singleUseUntil = 0
  /** Resolves `close`; undefined before it is called. */
  #resolveClose: (() => void) | undefined

  constructor(address: string, options: PoolOptions) {
    const url = new URL(address)
    this.#options = options
    this.#endpoint = endpointOf(url)
    this.#host = url.host
    this.#connect = options.connector ?? connect
  }
  /** Throws UnsendableRequest; later errors go to the handler. */
  send(request: Request, handler: ResponseHandler): void {
    const head = formatHead(this.#host, request)
    if (this.#queue.length >= this.#queueCheck) this.#prune()
    this.#queue.push({ head, request, handler })
    this.#waitForTurnEnd()
  }
  /** Resolves when every request under way or queued has ended. */
  close(): Promise<void> {
    clearInterval(this.#sweepTimer)
    const closed = new Promise<void>(resolve => {
      this.#resolveClose = resolve
    })
    for (const connection of this.#idle.splice(0)) connection.abort()
    this.#closeIfDone()
    return closed
  }
  destroy(): void {
    void this.close()
    for (const { handler } of this.#queue.splice(0))
      handler.onError(new Error('the pool is closed'))
    for (const connection of this.#open) connection.abort()
  }
  /** Used again at the end of the turn: by then a close or stray bytes have been read. */
  onReleased(connection: Connection): void {
    this.#releasedConnections.push(connection)
    this.#waitForTurnEnd()
  }
  onStrayBytes(): void {
    this.#singleUseUntil = performance.now() + SINGLE_USE
    for (const connection of this.#idle.splice(0)) connection.abort()
  }
  onClosed(connection: Connection): void {
    this.#open.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#queue.length > this.#connecting) this.#openConnection()
    this.#closeIfDone()
  }
  #closeIfDone(): void {
    if (this.#open.size === 0 && this.#queue.length === 0) this.#resolveClose?.()
  }
  /** Sends the requests of one turn of the event loop together at its end: each write alone would
   *  wake the upstream's process, and its core. */
  #waitForTurnEnd(): void {
    if (this.#waitsForTurnEnd) return
    this.#waitsForTurnEnd = true
    setImmediate(() => {
      this.#waitsForTurnEnd = false
      this.#reuseReleased()
      this.#sendQueued()
    })
  }
  #sendQueued(): void {
    while (this.#queue.length > 0) {
      const connection = this.#takeIdle()
      if (connection) this.#reuse(connection)
      else if (this.#queue.length > this.#connecting && this.#open.size < this.#options.connections)
        this.#openConnection()
      else return
    }
  }
  #reuseReleased(): void {
    const isSingleUse = performance.now() < this.#singleUseUntil
    for (const connection of this.#releasedConnections.splice(0))
      if (isSingleUse) connection.abort()
      else if (this.#open.has(connection)) this.#reuse(connection)
  }
  #reuse(connection: Connection): void {
    const next = this.#takeQueued()
    if (next) return connection.send(next.head, next.request, next.handler)
    if (this.#resolveClose) return connection.abort()
    const idleMs = Math.min(
      (connection.keepAliveMs ?? KEEP_IDLE_MS.usual + KEEP_IDLE_MS.margin) - KEEP_IDLE_MS.margin,
      KEEP_IDLE_MS.most,
    )
    connection.idleUntil = performance.now() + idleMs
    this.#idle.push(connection)
    this.#sweepTimer ??= setInterval(() => this.#sweep(), SWEEP_EVERY).unref()
  }
  #prune(): void {
    this.#queue = this.#queue.filter(({ handler }) => !handler.over)
    this.#queueCheck = Math.max(QUEUE_CHECK, 2 * this.#queue.length)
  }
  #takeIdle(): Connection | undefined {
    const now = performance.now()
    for (;;) {
      const connection = this.#idle.shift()
      if (!connection || connection.idleUntil >= now) return connection
      connection.abort()
    }
  }
  #takeQueued(): QueuedRequest | undefined {
    for (;;) {
      const next = this.#queue.shift()
      if (!next?.handler.over) return next
    }
  }
  #openConnection(): void {
    const connection = new Connection(this)
    this.#open.add(connection)
    this.#connecting++
    const callback = (length: number, buffer: Uint8Array) =>
      connection.read(buffer as Buffer, length)
    const onread = { buffer: READ_BUFFER, callback }
    const connecting = { timeout: this.#options.connect, onread, session: this.#session }
    const onFailure = (error: Error): void => {
      this.#connecting--
      // A session that the upstream rejects would fail the next connection as well.
      this.#session = undefined
      const next = this.#takeQueued()
      this.onClosed(connection)
      next?.handler.onError(error)
    }
    try {
      this.#connect(this.#endpoint, connecting, (error, socket) => {
        if (error) return onFailure(error)
        connection.attach(socket)
        if (this.#endpoint.secure) this.#rememberSession(socket)
        afterRead(() => {
          if (!this.#open.has(connection)) return onFailure(new Error(UNASKED))
          this.#connecting--
          this.#reuse(connection)
        })
      })
    } catch (error) {
      onFailure(error as Error)
    }
  }
  #rememberSession(socket: Socket): void {
    socket.on('session', session => {
      this.#session = session
    })
  }
  #sweep(): void {
    const now = performance.now()
    for (const old of this.#idle.filter(({ idleUntil }) => idleUntil < now)) old.abort()
    if (this.#idle.length > 0) return
    clearInterval(this.#sweepTimer)
    this.#sweepTimer = undefined
  }
}
