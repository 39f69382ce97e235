/** Relays two WebSockets: messages, back-pressure, close codes, liveness. Knows no handshakes. */
import { WebSocket } from 'ws'
import { asFault, errors } from '../errors.ts'
import type { Fault, Outcome } from '../plugin.ts'
import type { Indexed } from '../request/indexed-set.ts'
import { Direction, type RelayParts } from './direction.ts'

const fault = errors({
  CLIENT_GONE: [499, 'The client left.'],
  CLIENT_UNRULY: [400, 'The client broke a rule of its WebSocket: %s.'],
  CLIENT_FLOODS: [429, 'More than %d frames a second.'],
  UPSTREAM_CUT: [502, 'The upstream broke off.'],
  UPSTREAM_UNRULY: [502, 'The upstream broke a rule of its WebSocket: %s.'],
})

/** Frames a client may send in a second, pings included. */
const FRAMES_PER_SECOND = 2_000

/** Least bytes that a slow peer must take between two checks. */
const LEAST_PROGRESS = 256 * 1_024

// RFC 6455 §7.4.1. 1005 and 1006 are never sent: they mean that there was no code.
const NO_STATUS = 1005
const ABNORMAL_CLOSURE = 1006
const GOING_AWAY = 1001
const INTERNAL_ERROR = 1011
const POLICY_VIOLATION = 1008
/** Close codes by the code of a fault; other faults by their status. */
const CUT_CODES: Readonly<Record<string, number>> = { DRAINING: GOING_AWAY }
/** Maximum size of a close reason, in bytes (RFC 6455 §5.5). */
const REASON_BYTES = 123

type End = Pick<Outcome, 'end' | 'fault'>

/** Counts checks in a row in which a peer neither sent a frame nor took bytes. */
class PeerLiveness {
  isAlive = true
  #silentChecks = 0

  check(peer: WebSocket, towards: Direction, unread: boolean): void {
    this.#silentChecks = this.isAlive || towards.hasProgress || unread ? 0 : this.#silentChecks + 1
    this.isAlive = towards.hasProgress = false
    // A peer answers a ping behind a large message after it has the whole message.
    if (this.#silentChecks > peer.bufferedAmount / LEAST_PROGRESS) peer.terminate()
    else if (peer.readyState === WebSocket.OPEN) peer.ping()
  }
}

export class Relay implements Indexed {
  index = -1
  /** Resolves when both sockets are closed. */
  readonly done: Promise<End>
  readonly #client: WebSocket
  readonly #upstream: WebSocket
  readonly #up: Direction
  readonly #down: Direction
  readonly #result = Promise.withResolvers<End>()
  #end: End | undefined
  #open = 2
  readonly #clientLiveness = new PeerLiveness()
  readonly #upstreamLiveness = new PeerLiveness()
  #frames = 0
  #second = 0

  constructor(parts: RelayParts) {
    const { client, upstream } = parts
    const onFailure = (error: unknown): void => this.cut(asFault(error))
    this.#client = client
    this.#upstream = upstream
    this.#up = new Direction('client', parts, onFailure)
    this.#down = new Direction('upstream', parts, onFailure)
    this.done = this.#result.promise
    this.#listenToClient()
    this.#listenToUpstream()
    upstream.resume()
  }
  /** Bytes of messages from the client. */
  get bytesUp(): number {
    return this.#up.bytes
  }
  /** Bytes of messages from the upstream. */
  get bytesDown(): number {
    return this.#down.bytes
  }
  /** When the client was sent its first message (ms, monotonic); 0 before. */
  get firstSentAt(): number {
    return this.#down.firstSentAt
  }
  /** Closes the client with the reason, the upstream with 1001. */
  cut(reason: Fault): void {
    const code = CUT_CODES[reason.code] ?? (reason.status < 500 ? POLICY_VIOLATION : INTERNAL_ERROR)
    this.#finish(
      { end: 'cut', fault: reason },
      [code, reason.expose ? reason.message : ''],
      [GOING_AWAY],
    )
  }
  /** Called at intervals: pings both peers, and drops one without a frame since the last check. */
  checkPeers(): void {
    // A paused peer is not read: its frames cannot be seen.
    this.#clientLiveness.check(this.#client, this.#down, this.#up.isHeld)
    this.#upstreamLiveness.check(this.#upstream, this.#up, this.#down.isHeld)
  }
  #listenToClient(): void {
    const onFrame = (): void => this.#onClientFrame()
    this.#client
      .on('message', (payload: Buffer, binary) => {
        this.#onClientFrame()
        if (!this.#end) this.#up.accept(payload, binary)
      })
      .on('ping', onFrame)
      .on('pong', onFrame)
      .on('error', cause => {
        // `ws` closes the client's socket with the code of the rule; the close event adds nothing.
        const reason = fault('CLIENT_UNRULY', [cause.message], { cause })
        this.#finish({ end: 'cut', fault: reason }, undefined, [GOING_AWAY])
      })
      .on('close', (code, reason) => {
        // After an abnormal closure no client reads the answers to messages on their way up.
        if (code === ABNORMAL_CLOSURE)
          this.#finish({ end: 'hangup', fault: fault('CLIENT_GONE') }, undefined, [GOING_AWAY])
        else this.#up.close(() => this.#finish({ end: 'complete' }, undefined, [code, reason]))
        this.#onPeerClosed()
      })
  }
  #listenToUpstream(): void {
    const onFrame = (): void => {
      this.#upstreamLiveness.isAlive = true
    }
    this.#upstream
      .on('message', (payload: Buffer, binary) => {
        this.#upstreamLiveness.isAlive = true
        if (!this.#end) this.#down.accept(payload, binary)
      })
      .on('ping', onFrame)
      .on('pong', onFrame)
      .on('error', cause => {
        const reason = fault('UPSTREAM_UNRULY', [cause.message], { cause })
        this.#down.close(() =>
          this.#finish({ end: 'cut', fault: reason }, [INTERNAL_ERROR, reason.message], undefined),
        )
      })
      .on('close', (code, text) => {
        const reason = fault('UPSTREAM_CUT')
        this.#down.close(() => {
          if (code !== ABNORMAL_CLOSURE) this.#finish({ end: 'complete' }, [code, text], undefined)
          else
            this.#finish({ end: 'cut', fault: reason }, [INTERNAL_ERROR, reason.message], undefined)
        })
        this.#onPeerClosed()
      })
  }
  #onClientFrame(): void {
    this.#clientLiveness.isAlive = true
    const second = Math.floor(performance.now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#frames = 0
    }
    if (++this.#frames === FRAMES_PER_SECOND + 1)
      this.cut(fault('CLIENT_FLOODS', [FRAMES_PER_SECOND]))
  }
  /** Ends the relay; the first reason counts. `undefined`: this side closes by itself. */
  #finish(end: End, client: Close | undefined, upstream: Close | undefined): void {
    if (this.#end) return
    this.#end = end
    if (client) closeWith(this.#client, client)
    if (upstream) closeWith(this.#upstream, upstream)
    // A paused socket would not read the close frame of its peer.
    this.#client.resume()
    this.#upstream.resume()
  }
  #onPeerClosed(): void {
    if (--this.#open === 0) this.#result.resolve(this.#end ?? { end: 'complete' })
  }
}

type Close = readonly [code: number, reason?: string | Buffer]

const closeWith = (socket: WebSocket, [code, reason = '']: Close): void => {
  if (code === NO_STATUS) return socket.close()
  socket.close(code, typeof reason === 'string' ? truncateReason(reason) : reason)
}
/** Omits an incomplete character at the end: half of one is not UTF-8. */
const truncateReason = (text: string): string =>
  new TextDecoder().decode(Buffer.from(text).subarray(0, REASON_BYTES), { stream: true })
