/** The connections to one address: those that are idle, and the requests that wait for one. */
import type { Socket } from 'node:net'
import { type Connect, connect, type Place, placeOf } from './connect.ts'
import { type Asker, Connection, type Keeper } from './connection.ts'
import { type Request, writeHead } from './request-head.ts'

export interface PoolOptions {
  /** ms until a connection must stand. */
  readonly connect: number
  /** At most so many at once. */
  readonly connections: number
  /** Connects in its own way: to judged addresses only. */
  readonly connector?: Connect
}
interface Waiting {
  readonly head: string
  readonly request: Request
  readonly asker: Asker
}

/** How long an idle connection is kept where the upstream says nothing, and at most, ms. Most servers close theirs
 *  after five seconds: a request that meets the closing is lost. */
const KEPT = { usual: 4_000, most: 600_000, margin: 2_000 }
const SWEEP = 1_000
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
  #session: Buffer | undefined
  #sweeping: NodeJS.Timeout | undefined
  #dialing = 0
  #closing = false

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
    this.#waiting.push({ head, request, asker })
    if (this.#open.size < this.#options.connections) this.#dial()
  }
  /** What is under way and what waits ends first. */
  close(): void {
    this.#closing = true
    for (const connection of this.#idle.splice(0)) connection.abort()
    clearInterval(this.#sweeping)
  }
  destroy(): void {
    this.close()
    this.#waiting = []
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
  }
  #settle(): void {
    for (const connection of this.#freed.splice(0))
      if (this.#open.has(connection)) this.#take(connection)
  }
  #take(connection: Connection): void {
    const next = this.#next()
    if (next) return connection.send(next.head, next.request, next.asker)
    if (this.#closing) return connection.abort()
    const kept = Math.min((connection.keeps ?? KEPT.usual + KEPT.margin) - KEPT.margin, KEPT.most)
    connection.idleUntil = performance.now() + kept
    this.#idle.push(connection)
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP).unref()
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
    this.#connect(this.#place, connecting, (error, socket) => {
      this.#dialing--
      if (error) {
        this.#next()?.asker.broke(error)
        return this.gone(connection)
      }
      if (this.#place.secure) this.#remember(socket)
      connection.opened(socket)
      this.#take(connection)
    })
  }
  #remember(socket: Socket): void {
    socket.on('session', session => {
      this.#session = session
    })
  }
  #sweep(): void {
    const now = performance.now()
    for (const connection of this.#idle.filter(({ idleUntil }) => idleUntil < now)) {
      this.#idle.splice(this.#idle.indexOf(connection), 1)
      connection.abort()
    }
    if (this.#idle.length > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }
}
