/** The connections to one address: those that are idle, and the requests that wait for one. */
import type { Socket } from 'node:net'
import { type Connect, connect, type Place, placeOf } from './connect.ts'
import { type Asker, Connection, type Keeper } from './connection.ts'
import { type Request, type RequestHead, writeHead } from './request-head.ts'

export interface PoolOptions {
  /** ms until a connection must stand. */
  readonly connect: number
  /** At most so many at once. */
  readonly connections: number
  /** Opens sockets in another way. */
  readonly connector?: Connect
}
interface Waiting {
  readonly head: RequestHead
  readonly request: Request
  readonly asker: Asker
}

/** How long an idle connection is kept where the upstream says nothing, and at most, ms. Most servers close theirs
 *  after five seconds: a request that meets the closing is lost. */
const KEPT = { usual: 4_000, most: 600_000, margin: 2_000 }
const SWEEP = 1_000
/** Requests in line until it is looked at for those who left. */
const LINE = 64
/** All connections read into it: what arrives is copied out before the next one reads. */
const ARRIVING = Buffer.allocUnsafeSlow(64 * 1024)

export class Pool implements Keeper {
  readonly #options: PoolOptions
  readonly #place: Place
  /** As the Host header says it. */
  readonly #host: string
  readonly #connect: Connect
  readonly #open = new Set<Connection>()
  /** The one that rested longest is used next: whatever its upstream did after its last answer, such as closing it, has
   *  had the longest time to arrive. */
  readonly #idle: Connection[] = []
  readonly #freed: Connection[] = []
  #waiting: Waiting[] = []
  #longest = LINE
  #session: Buffer | undefined
  #sweeping: NodeJS.Timeout | undefined
  #dialing = 0
  /** Told when it is closed; undefined while nobody wants it to be. */
  #closed: (() => void) | undefined

  constructor(address: string, options: PoolOptions) {
    const url = new URL(address)
    this.#options = options
    this.#place = placeOf(url)
    this.#host = url.host
    this.#connect = options.connector ?? connect
  }
  /** Throws Unsendable; anything later is told to the asker. */
  ask(request: Request, asker: Asker): void {
    const head = writeHead(this.#host, request)
    const connection = this.#rested()
    if (connection) return connection.send(head, request, asker)
    // Who left while waiting is let go of before the line grows.
    if (this.#waiting.length >= this.#longest) this.#prune()
    this.#waiting.push({ head, request, asker })
    if (this.#open.size < this.#options.connections) this.#dial()
  }
  /** Resolves when what is under way and what waits has ended. */
  close(): Promise<void> {
    clearInterval(this.#sweeping)
    const closed = new Promise<void>(resolve => {
      this.#closed = resolve
    })
    for (const connection of this.#idle.splice(0)) connection.abort()
    this.#closeIfDone()
    return closed
  }
  destroy(): void {
    void this.close()
    for (const { asker } of this.#waiting.splice(0)) asker.broke(new Error('the pool is closed'))
    for (const connection of this.#open) connection.abort()
  }
  /** Used again a turn of the event loop later: an upstream that closes what it said it would keep, or sends more than
   *  it should, has done so by then. */
  freed(connection: Connection): void {
    if (this.#freed.push(connection) === 1) setImmediate(() => this.#settle())
  }
  gone(connection: Connection): void {
    this.#open.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#waiting.length > this.#dialing) this.#dial()
    this.#closeIfDone()
  }
  #closeIfDone(): void {
    if (this.#open.size === 0 && this.#waiting.length === 0) this.#closed?.()
  }
  #settle(): void {
    for (const connection of this.#freed.splice(0))
      if (this.#open.has(connection)) this.#take(connection)
  }
  #take(connection: Connection): void {
    const next = this.#next()
    if (next) return connection.send(next.head, next.request, next.asker)
    if (this.#closed) return connection.abort()
    const kept = Math.min((connection.keeps ?? KEPT.usual + KEPT.margin) - KEPT.margin, KEPT.most)
    connection.idleUntil = performance.now() + kept
    this.#idle.push(connection)
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP).unref()
  }
  #prune(): void {
    this.#waiting = this.#waiting.filter(({ asker }) => !asker.over)
    this.#longest = Math.max(LINE, 2 * this.#waiting.length)
  }
  #rested(): Connection | undefined {
    const now = performance.now()
    for (;;) {
      const connection = this.#idle.shift()
      if (!connection || connection.idleUntil >= now) return connection
      connection.abort()
    }
  }
  #next(): Waiting | undefined {
    for (;;) {
      const next = this.#waiting.shift()
      if (!next?.asker.over) return next
    }
  }
  #dial(): void {
    const connection = new Connection(this)
    this.#open.add(connection)
    this.#dialing++
    const callback = (length: number, buffer: Uint8Array) =>
      connection.read(buffer as Buffer, length)
    const onread = { buffer: ARRIVING, callback }
    const connecting = { timeout: this.#options.connect, onread, session: this.#session }
    const failed = (error: Error): void => {
      this.#dialing--
      // A session that the upstream cannot read any more would fail the next one as well.
      this.#session = undefined
      const next = this.#next()
      this.gone(connection)
      next?.asker.broke(error)
    }
    try {
      this.#connect(this.#place, connecting, (error, socket) => {
        if (error) return failed(error)
        this.#dialing--
        if (!this.#open.has(connection)) return void socket.on('error', () => {}).destroy()
        if (this.#place.secure) this.#remember(socket)
        connection.opened(socket)
        this.#take(connection)
      })
    } catch (thrown) {
      failed(thrown as Error)
    }
  }
  #remember(socket: Socket): void {
    socket.on('session', session => {
      this.#session = session
    })
  }
  #sweep(): void {
    const now = performance.now()
    for (const old of this.#idle.filter(({ idleUntil }) => idleUntil < now)) old.abort()
    if (this.#idle.length > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }
}
