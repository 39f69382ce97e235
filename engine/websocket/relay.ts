/** Two WebSockets and what passes between them: messages, back-pressure, close codes. Knows nothing of handshakes. */
import { WebSocket } from 'ws'
import { asFault, errors } from '../errors.ts'
import type { Fault, Outcome } from '../plugin.ts'
import type { Seated } from '../request/indexed-set.ts'
import { Direction, type RelayParts } from './direction.ts'

const fault = errors({
  CLIENT_GONE: [499, 'The client left.'],
  CLIENT_UNRULY: [400, 'The client broke a rule of its WebSocket: %s.'],
  CLIENT_FLOODS: [429, 'More than %d frames a second.'],
  UPSTREAM_CUT: [502, 'The upstream broke off.'],
  UPSTREAM_UNRULY: [502, 'The upstream broke a rule of its WebSocket: %s.'],
})

/** Frames a client may send in a second, pings included. */
const FRAMES = 2_000

/** Bytes a slow peer must take between two beats. */
const LEAST_TAKEN = 256 * 1_024

// RFC 6455 §7.4.1. 1005 and 1006 are never on the wire: they say that no code was.
const NO_STATUS = 1005
const BROKEN = 1006
const GOING_AWAY = 1001
const FAILED = 1011
const POLICY = 1008
/** What a cut is called; the rest goes by whose fault it is. */
const CUT_CODES: Readonly<Record<string, number>> = { DRAINING: GOING_AWAY }
/** A close reason has at most so many bytes (RFC 6455 §5.5). */
const REASON = 123

type End = Pick<Outcome, 'end' | 'fault'>

/** How long one peer has given no sign of life: neither said anything nor taken what was sent. */
class Silence {
  broken = true
  #beats = 0

  beat(peer: WebSocket, towards: Direction, unread: boolean): void {
    this.#beats = this.broken || towards.moved || unread ? 0 : this.#beats + 1
    this.broken = towards.moved = false
    // It answers a ping behind a large message once it has all of that.
    if (this.#beats > peer.bufferedAmount / LEAST_TAKEN) peer.terminate()
    else if (peer.readyState === WebSocket.OPEN) peer.ping()
  }
}

export class Relay implements Seated {
  seat = -1
  /** Resolves when both sockets are closed. */
  readonly done: Promise<End>
  readonly #client: WebSocket
  readonly #upstream: WebSocket
  readonly #up: Direction
  readonly #down: Direction
  readonly #ended = Promise.withResolvers<End>()
  #end: End | undefined
  #open = 2
  readonly #clientSilence = new Silence()
  readonly #upstreamSilence = new Silence()
  #frames = 0
  #second = 0

  constructor(parts: RelayParts) {
    const { client, upstream } = parts
    const failed = (thrown: unknown): void => this.cut(asFault(thrown))
    this.#client = client
    this.#upstream = upstream
    this.#up = new Direction('client', parts, failed)
    this.#down = new Direction('upstream', parts, failed)
    this.done = this.#ended.promise
    this.#listenToClient()
    this.#listenToUpstream()
    upstream.resume()
  }
  /** Bytes of messages, by where they came from. */
  get received(): number {
    return this.#up.bytes
  }
  get sent(): number {
    return this.#down.bytes
  }
  /** Says why to the client; the upstream only learns that nobody is there any more. */
  cut(reason: Fault): void {
    const code = CUT_CODES[reason.code] ?? (reason.status < 500 ? POLICY : FAILED)
    this.#finish(
      { end: 'cut', fault: reason },
      [code, reason.expose ? reason.message : ''],
      [GOING_AWAY],
    )
  }
  /** Called at intervals: asks both peers for a sign of life, and drops who gave none since the last time. */
  beat(): void {
    // Nobody reads from a paused peer, so it cannot be heard.
    this.#clientSilence.beat(this.#client, this.#down, this.#up.held)
    this.#upstreamSilence.beat(this.#upstream, this.#up, this.#down.held)
  }
  #listenToClient(): void {
    const heard = (): void => this.#heardClient()
    this.#client
      .on('message', (payload: Buffer, binary) => {
        this.#heardClient()
        if (!this.#end) this.#up.take(payload, binary)
      })
      .on('ping', heard)
      .on('pong', heard)
      .on('error', cause => {
        // Its own socket closes with the code of the rule; the close behind it says nothing new.
        const broken = fault('CLIENT_UNRULY', [cause.message], { cause })
        this.#finish({ end: 'cut', fault: broken }, undefined, [GOING_AWAY])
      })
      .on('close', (code, reason) => {
        // Nobody is left to read an answer to what is still on its way up.
        if (code === BROKEN)
          this.#finish({ end: 'hangup', fault: fault('CLIENT_GONE') }, undefined, [GOING_AWAY])
        else this.#up.close(() => this.#finish({ end: 'complete' }, undefined, [code, reason]))
        this.#closed()
      })
  }
  #listenToUpstream(): void {
    const heard = (): void => {
      this.#upstreamSilence.broken = true
    }
    this.#upstream
      .on('message', (payload: Buffer, binary) => {
        this.#upstreamSilence.broken = true
        if (!this.#end) this.#down.take(payload, binary)
      })
      .on('ping', heard)
      .on('pong', heard)
      .on('error', cause => {
        const broken = fault('UPSTREAM_UNRULY', [cause.message], { cause })
        this.#down.close(() =>
          this.#finish({ end: 'cut', fault: broken }, [FAILED, broken.message], undefined),
        )
      })
      .on('close', (code, reason) => {
        const cut = fault('UPSTREAM_CUT')
        this.#down.close(() => {
          if (code !== BROKEN) this.#finish({ end: 'complete' }, [code, reason], undefined)
          else this.#finish({ end: 'cut', fault: cut }, [FAILED, cut.message], undefined)
        })
        this.#closed()
      })
  }
  #heardClient(): void {
    this.#clientSilence.broken = true
    const second = Math.floor(performance.now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#frames = 0
    }
    if (++this.#frames === FRAMES + 1) this.cut(fault('CLIENT_FLOODS', [FRAMES]))
  }
  /** The first reason counts. Each side is closed with what it is told, or not at all if it closes by itself. */
  #finish(end: End, client: Close | undefined, upstream: Close | undefined): void {
    if (this.#end) return
    this.#end = end
    if (client) closeWith(this.#client, client)
    if (upstream) closeWith(this.#upstream, upstream)
    // A paused socket would not hear its peer agree to the close.
    this.#client.resume()
    this.#upstream.resume()
  }
  #closed(): void {
    if (--this.#open === 0) this.#ended.resolve(this.#end ?? { end: 'complete' })
  }
}

type Close = readonly [code: number, reason?: string | Buffer]

const closeWith = (socket: WebSocket, [code, reason = '']: Close): void => {
  if (code === NO_STATUS) return socket.close()
  socket.close(code, typeof reason === 'string' ? shorten(reason) : reason)
}
/** Cut at a character: half of one is not UTF-8. */
const shorten = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  let end = Math.min(bytes.length, REASON)
  if (bytes.length > REASON) while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end)
}
