/** One WebSocket of responses: each `response.create` is served like a POST of the same client.
 *
 *  open ──its lifetime ends, or the gateway drains──▶ closing: responses under way end, no other
 *  begins ──▶ closed: the responses under way are aborted, as when an HTTP client leaves */
import type { WebSocket } from 'ws'
import { asFault } from '../../../engine/errors.ts'
import type { Fault, InsideResponse } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientText, parseJson } from '../../formats/fields.ts'
import { bareId } from '../../slots.ts'
import { PAUSE_ABOVE, RESUME_BELOW } from '../../sockets/socket-pair.ts'
import { fault } from '../faults.ts'
import { faultEvent, steerRefusal, warmUpEvents, withMembers } from './events.ts'
import { Lane } from './lane.ts'
import { ResponseEvents } from './response-events.ts'

/** As with the provider: streams of one connection, and responses under way at once. */
const MAX_LANES = 32
const MAX_RUNNING = 16
/** Frames that wait for the end of a response, and their characters. */
const MAX_QUEUED = 32
const MAX_QUEUED_SIZE = 32 * 2 ** 20
/** RFC 6455 §7.4.1: clients open another connection. */
const GOING_AWAY = 1001
/** ms between two looks at what a slow client has taken. */
const POLL_MS = 20

export interface SessionContext {
  /** Of the request that opened the socket. */
  readonly id: string
  /** ms that the socket stays open. */
  readonly lifetime: number
  /** Characters of a request and a response that the socket remembers. */
  readonly largest: number
  /** Aborts when the gateway shuts down. */
  readonly leaving: AbortSignal
  /** Serves the body of a POST. `signal`: see `InsideRequest`. */
  serve(body: string, signal: AbortSignal): Promise<InsideResponse>
}

export class ResponseSession {
  readonly #socket: WebSocket
  readonly #context: SessionContext
  readonly #lanes = new Map<string | undefined, Lane>([[undefined, new Lane()]])
  readonly #leaving = new AbortController()
  #running = 0
  #queued = 0
  #queuedSize = 0
  #warmUps = 0
  /** Why no further response begins. */
  #closeReason: Fault | undefined

  constructor(socket: WebSocket, context: SessionContext) {
    this.#socket = socket
    this.#context = context
    const seconds = Math.round(context.lifetime / 1_000)
    const expire = (): void => this.#close(fault('SOCKET_EXPIRED', [seconds]))
    const timer = setTimeout(expire, context.lifetime)
    const onLeaving = (): void => this.#close(fault('SOCKET_DRAINED'))
    context.leaving.addEventListener('abort', onLeaving, { once: true })
    socket
      .on('message', (data, isBinary) => this.#accept(isBinary ? '' : String(data)))
      .on('error', () => socket.terminate())
      .on('close', () => {
        clearTimeout(timer)
        context.leaving.removeEventListener('abort', onLeaving)
        this.#leaving.abort()
      })
    if (context.leaving.aborted) onLeaving()
  }
  #accept(text: string): void {
    const frame = parseJson(text)
    if (!isFields(frame)) return this.#refuse(fault('FRAME_INVALID'))
    if (frame.type === 'response.steer') return this.#send(steerRefusal(frame))
    const name = lenientText(frame, 'stream_id')
    if (frame.type !== 'response.create')
      return this.#refuse(fault('FRAME_UNKNOWN', [String(frame.type).slice(0, 64)]), name)
    if (this.#closeReason) return this.#refuse(this.#closeReason, name)
    const lane = this.#laneOf(name)
    if (!lane) return this.#refuse(fault('STREAMS_TOO_MANY', [MAX_LANES]), name)
    if (this.#queued === MAX_QUEUED || this.#queuedSize + text.length > MAX_QUEUED_SIZE)
      return this.#refuse(fault('FRAMES_TOO_MANY', [MAX_QUEUED]), name)
    this.#queued++
    this.#queuedSize += text.length
    lane.queue.push({ frame, size: text.length })
    this.#startNext()
  }
  #laneOf(name: string | undefined): Lane | undefined {
    const known = this.#lanes.get(name)
    if (known || this.#lanes.size > MAX_LANES) return known
    const lane = new Lane()
    this.#lanes.set(name, lane)
    return lane
  }
  /** Starts the first frame of every idle lane, unless the socket closes. */
  #startNext(): void {
    for (const [name, lane] of this.#lanes) {
      if (lane.isRunning || this.#running === MAX_RUNNING || this.#closeReason) continue
      const next = lane.queue.shift()
      if (!next) continue
      this.#queued--
      this.#queuedSize -= next.size
      lane.isRunning = true
      this.#running++
      void this.#run(name, lane, next.frame).finally(() => {
        lane.isRunning = false
        this.#running--
        this.#startNext()
      })
    }
    this.#closeIfIdle()
  }
  async #run(name: string | undefined, lane: Lane, frame: Fields): Promise<void> {
    const { type: _, stream_id: __, generate, ...request } = frame
    const owner = [...this.#lanes.values()].find(each => each.expand(request))
    const expanded = owner?.expand(request) ?? request
    if (generate === false) return this.#warmUp(name, lane, expanded)
    const body = JSON.stringify({ ...expanded, stream: true })
    const events = await this.#respond(name, body).catch(error =>
      this.#refuse(asFault(error), name),
    )
    // As with the provider, a history that led to a failure is forgotten: clients send it whole.
    if (!events || events.hasFailed) return owner?.forget(String(request.previous_response_id))
    lane.forget()
    if (request.store === false && events.response && body.length <= this.#context.largest)
      lane.remember(expanded, events.response)
  }
  async #respond(name: string | undefined, body: string): Promise<ResponseEvents> {
    const response = await this.#context.serve(body, this.#leaving.signal)
    const events = new ResponseEvents(response)
    const streamMember = name === undefined ? {} : { stream_id: name }
    for await (const text of events.texts()) {
      this.#send(withMembers(text, streamMember))
      if (this.#socket.bufferedAmount > PAUSE_ABOVE) await this.#drained()
    }
    if (!events.isFinished) this.#refuse(fault('RESPONSE_UNFINISHED'), name)
    // The gateway says so if a drain has begun that spares keep-alive connections.
    if (response.headers.connection === 'close') this.#close(fault('SOCKET_DRAINED'))
    return events
  }
  #warmUp(name: string | undefined, lane: Lane, request: Fields): void {
    const id = `resp_${bareId(this.#context)}_${++this.#warmUps}`
    lane.remember(request, { id })
    const streamMember = name === undefined ? {} : { stream_id: name }
    for (const text of warmUpEvents(id, Date.now(), request))
      this.#send(withMembers(text, streamMember))
  }
  /** Resolves when the socket has taken what was sent, or is closed. */
  #drained(): Promise<void> {
    return new Promise(resolve => {
      const isTaken = (): boolean => this.#socket.bufferedAmount <= RESUME_BELOW
      const check = (): void => (isTaken() || this.#leaving.signal.aborted ? resolve() : poll())
      const poll = (): void => void setTimeout(check, POLL_MS)
      poll()
    })
  }
  #refuse(reason: Fault, name?: string): void {
    const streamMember = name === undefined ? {} : { stream_id: name }
    this.#send(withMembers(faultEvent(reason, this.#context.id), streamMember))
  }
  #send(text: string): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text)
  }
  #close(reason: Fault): void {
    this.#closeReason ??= reason
    for (const [name, { queue }] of this.#lanes)
      for (const _ of queue.splice(0)) this.#refuse(this.#closeReason, name)
    this.#closeIfIdle()
  }
  #closeIfIdle(): void {
    if (!this.#closeReason || this.#running > 0) return
    if (this.#socket.readyState !== this.#socket.OPEN) return
    if (this.#closeReason.code === 'SOCKET_EXPIRED') this.#refuse(this.#closeReason)
    this.#socket.close(GOING_AWAY, this.#closeReason.message)
  }
}
