/** Writes one reply to the client's socket: head, back-pressure, the last durable gate, hang-ups.
 *
 *  waiting ──head──▶ sending
 *  waiting, sending ──source ends, durable──▶ ending ──end of the turn──▶ ended
 *  waiting, sending, ending ──fault──▶ ended: a refusal, an event, or a broken connection
 *  waiting, sending ──a reply HTTP cannot carry, a filter's fault──▶ failing ──▶ ended
 *  waiting to failing ──the client leaves──▶ abandoned ──source ends, `hangup`──▶ ended
 *
 *  Back-pressure: none ──socket full──▶ blocked ──drained──▶ released ──socket full──▶ blocked */
import type { ServerResponse } from 'node:http'
import { asFault, errors } from '../errors.ts'
import type { Bytes, Fault, Headers, Out, Outcome, Refusal } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import type { RequestLifecycle } from '../request/request-lifecycle.ts'
import { withoutFraming } from './headers.ts'
import { endAndClose, flushHead, writeLast } from './lingering-close.ts'
import { Pings } from './pings.ts'
import { plainRefusal } from './refusal.ts'
import { type FlowControl, UNCONTROLLED } from './source.ts'
import { turnEnd } from './turn-end.ts'

const fault = errors({
  CLIENT_GONE: [499, 'The client left.'],
  CLIENT_SLOW: [499, 'The client read nothing for %d ms.'],
  LENGTH_WRONG: [500, 'the reply is not of the %d bytes its head announced', { expose: false }],
  UPSTREAM_REFUSED: [502, 'The upstream answered %d, and no events, after the stream had begun.'],
})

const isEventStream = (headers: Headers): boolean =>
  String(headers['content-type'] ?? '').startsWith('text/event-stream')
type State =
  | { readonly name: 'waiting' | 'sending' | 'ending' | 'failing' | 'ended' }
  /** `discarded`: bytes read from the upstream since the client left. */
  | { readonly name: 'abandoned'; discardedBytes: number }

const WAITING: State = { name: 'waiting' }
const SENDING: State = { name: 'sending' }
const ENDING: State = { name: 'ending' }
const FAILING: State = { name: 'failing' }
const ENDED: State = { name: 'ended' }

/** `deliver` when the pipeline has run, `commitAndRefuse` when it threw. */
export class ResponseWriter implements Out {
  readonly call: Call
  readonly #lifecycle: RequestLifecycle
  readonly #response: ServerResponse
  #state = WAITING
  #source: FlowControl = UNCONTROLLED
  #bodyBytes = 0
  /** Content-Length of the reply as the stages left it; -1 without one. */
  #declaredLength = -1
  /** When the head was written (ms, monotonic); 0 before. */
  #headAt = 0
  /** Ends the measurement of an open stream of events; undefined for every other reply. */
  #closeStream: (() => void) | undefined
  #backpressure: 'none' | 'blocked' | 'released' = 'none'
  readonly #pings: Pings | undefined
  /** Once abandoned: the time that `hangup` gives. */
  #timer: NodeJS.Timeout | undefined

  constructor(lifecycle: RequestLifecycle, response: ServerResponse) {
    this.call = lifecycle.call
    this.#lifecycle = lifecycle
    this.#response = response
    const { ping } = lifecycle.compiledRoute
    if (ping) this.#pings = new Pings(ping, event => this.#ping(event))
    response.on('close', () => this.#onClose())
  }
  deliver(): void {
    if (this.#state === ENDED) return
    const reply = this.call.requireReply()
    if (this.#response.headersSent && (reply.status >= 400 || !isEventStream(reply.headers))) {
      const lateRefusal = fault('UPSTREAM_REFUSED', [reply.status])
      reply.cut(lateRefusal)
      return this.refuse(lateRefusal)
    }
    const length = reply.headers['content-length']
    if (typeof length === 'string') this.#declaredLength = Number(length)
    this.#source = reply.pipeTo(this)
    if (this.#backpressure === 'blocked') this.#source.pause()
    // The head of a stream whose first event is far away shows the client that the request was
    // taken. A whole answer may still turn into a refusal, so its head waits.
    if (this.#state !== WAITING || this.#declaredLength >= 0 || this.call.durable) return
    if (reply.headers['content-type'] === 'application/json') return
    if (this.#ensureHead(-1) && !this.#bodiless()) flushHead(this.#response)
  }
  /** Sends a ping: with the head, if the client asks for a stream, or between two events. A body
   *  that no stage has read is not read for it: the request may still be refused. */
  #ping(event: Bytes): void {
    if (this.#state === SENDING && this.#closeStream && this.#declaredLength < 0)
      if (!this.#response.writableNeedDrain) this.#response.write(event)
    const { request } = this.call
    const mayAsk = !request.body.exists || request.body.whole || request.body.isStreamed
    if (this.#state !== WAITING || !mayAsk) return
    void this.#lifecycle.compiledRoute.streams(request).then(isStream => {
      if (!isStream || this.#state !== WAITING) return
      this.#writeHead({ 'content-type': 'text/event-stream' }, 200, -1)
      this.#response.write(event)
    })
  }
  write(chunk: Bytes): void {
    const state = this.#state
    if (state === ENDED || state === FAILING) return
    if (state.name === 'abandoned') return this.#discard(chunk, state)
    if (!this.#ensureHead(this.#declaredLength)) return
    const size = this.#bodyBytes + chunk.length
    // A client would read bytes beyond the announced length as the beginning of the next reply.
    if (this.#declaredLength >= 0 && size > this.#declaredLength && !this.#bodiless())
      return this.#invalidate(fault('LENGTH_WRONG', [this.#declaredLength]))
    this.#bodyBytes = size
    this.#pings?.observe(chunk)
    this.#stampFirstByte()
    if (this.#bodiless()) return
    turnEnd.cork(this.#response.socket)
    if (this.#response.write(chunk)) return
    this.#source.pause()
    this.#limitReader()
    if (this.#backpressure === 'blocked') return
    this.#backpressure = 'blocked'
    this.#response.once('drain', () => {
      this.#backpressure = 'released'
      this.#response.socket?.setTimeout(0)
      this.#source.resume()
    })
  }
  end(tail?: Bytes, reason?: Fault): void {
    if (this.#state === FAILING) return
    const reply = this.call.requireReply()
    if (reason) reply.endFault = reason
    // A fault from a filter ends the source: usage is settled before the tail is sent.
    if (reply.endFault) this.#endSource(reply.endFault)
    // The last byte waits until the groups of the stages are durable.
    if (!this.call.durable) return this.#completeAtTurnEnd(tail)
    this.call.writes.commit().then(
      () => this.#completeAtTurnEnd(tail),
      error =>
        // Part of the reply is at the client: what the store cannot take now is written later.
        this.#headAt > 0 && this.call.writes.oweGroups(error)
          ? this.#completeAtTurnEnd(tail)
          : this.refuse(asFault(error)),
    )
  }
  fail(reason: Fault): void {
    if (this.#state !== FAILING) this.#fail(reason)
  }
  /** Ends the reply in the client's dialect: a refusal, an event, or a broken connection. */
  refuse(reason: Fault): void {
    if (this.#state === ENDED) return
    if (this.call.hasReply) this.call.requireReply().cut(reason)
    if (this.#state === ENDED) return // the cut passed the source and the filters, and ended here
    if (this.#state.name === 'abandoned') return this.#finish('hangup', 499, reason)
    const refusal = this.#lifecycle.compiledRoute.fail(reason, this.call)
    if (this.#headAt === 0) return this.#writeRefusal(refusal, reason)
    if (refusal.event && this.#closeStream) {
      // The stream may have broken off within an event: the blank line ends that event.
      if (this.#bodyBytes > 0) this.#response.write('\n\n')
      this.#response.end(refusal.event)
    } else this.#response.destroy() // a broken body must not look complete
    this.#finish('cut', this.#response.statusCode, reason)
  }
  /** Refuses once the groups that the stages added are durable or have failed. A refusal that is
   *  paid is not sent if its charge failed. */
  async commitAndRefuse(reason: Fault): Promise<void> {
    const failure = this.call.durable
      ? await this.call.writes.commit().then(() => undefined, asFault)
      : undefined
    this.refuse(failure && reason.paid && this.#headAt === 0 ? failure : reason)
  }
  #writeRefusal({ status, headers, body }: Refusal, reason: Fault): void {
    const invalid = this.#writeHead(headers, status, body.length)
    if (invalid) {
      this.#lifecycle.logFault(invalid)
      return this.#writeRefusal({ ...plainRefusal(reason, this.call), headers: {} }, reason)
    }
    this.#bodyBytes += body.length
    this.#stampFirstByte()
    // First, so that what undoes the call is on disk before the client reads of its failure.
    this.#finish('refused', status, reason)
    endAndClose(this.#response, this.#bodiless() ? undefined : body)
  }
  /** A stage made a reply that HTTP cannot carry. */
  #invalidate(reason: Fault): void {
    this.#endSource(reason)
    this.#fail(reason)
  }
  /** Ignores what the source and the filters still send. */
  #endSource(reason: Fault): void {
    if (this.#state !== ENDED && this.#state.name !== 'abandoned') this.#state = FAILING
    this.call.requireReply().cut(reason)
  }
  #fail(reason: Fault): void {
    this.#lifecycle.logFault(reason)
    if (this.call.durable) void this.commitAndRefuse(reason)
    else this.refuse(reason)
  }
  #completeAtTurnEnd(tail: Bytes | undefined): void {
    if (this.#state === WAITING || this.#state === SENDING) this.#state = ENDING
    turnEnd.run(() => this.#complete(tail))
  }
  #complete(tail: Bytes | undefined): void {
    if (this.#state === ENDED) return
    if (this.#state.name === 'abandoned') return this.#finish('hangup', 499, fault('CLIENT_GONE'))
    const size = this.#bodyBytes + (tail?.length ?? 0)
    const declaredLength = this.#declaredLength
    if (this.#headAt > 0 && declaredLength >= 0 && declaredLength !== size && !this.#bodiless())
      return this.#invalidate(fault('LENGTH_WRONG', [declaredLength]))
    // A reply to HEAD has the length that GET would have.
    const ofGet = this.call.request.method === 'HEAD' && declaredLength >= 0
    if (!this.#ensureHead(ofGet ? declaredLength : size)) return
    this.#bodyBytes = size
    if (size > 0) this.#stampFirstByte()
    const { unread } = this.call.request.body
    writeLast(this.#response, this.#bodiless() ? undefined : tail, { size, unread })
    if (this.#response.writableLength > 0) this.#limitReader()
    const { status, endFault } = this.call.requireReply()
    this.#finish(endFault ? 'cut' : 'complete', status, endFault)
  }
  /** False when the reply can have no head; then it is refused. */
  #ensureHead(length: number): boolean {
    if (this.#headAt > 0) return true
    const { headers, status } = this.call.requireReply()
    const invalid = this.#writeHead(headers, status, length)
    if (invalid) this.#invalidate(invalid)
    return !invalid
  }
  /** Returns a fault when a stage wrote a header that no head can hold. */
  #writeHead(headers: Headers, status: number, length: number): Fault | undefined {
    const { compiledRoute } = this.#lifecycle
    const list = withoutFraming(compiledRoute.headers?.(headers, this.call) ?? headers)
    if (length >= 0 && status !== 204 && status !== 304) list.push('content-length', String(length))
    list.push('x-request-id', this.call.requestId, 'x-tollgate-version', this.#lifecycle.version)
    if (this.call.requestId !== this.call.id) list.push('x-tollgate-request', this.call.id)
    if (this.#lifecycle.closesConnection() || this.call.request.body.unread)
      list.push('connection', 'close')
    try {
      this.#response.writeHead(status, list)
    } catch (error) {
      return asFault(error)
    }
    if (this.#state === WAITING) this.#state = SENDING
    this.#headAt = performance.now()
    if (isEventStream(headers)) this.#closeStream = this.#lifecycle.openStream('sse')
    return undefined
  }
  #stampFirstByte(): void {
    this.call.progress.firstByteAt ||= performance.now()
  }
  #bodiless(): boolean {
    const { statusCode } = this.#response
    return this.call.request.method === 'HEAD' || statusCode === 204 || statusCode === 304
  }
  #discard(chunk: Bytes, state: State & { name: 'abandoned' }): void {
    state.discardedBytes += chunk.length
    const { hangup } = this.call
    if (hangup !== 'cancel' && state.discardedBytes > hangup.bytes)
      this.call.abandon(fault('CLIENT_GONE'))
  }
  #onClose(): void {
    this.#pings?.stop()
    if (this.#state === ENDED || this.#response.writableFinished) return
    this.#state = { name: 'abandoned', discardedBytes: 0 }
    const { hangup } = this.call
    if (hangup === 'cancel') return this.call.abandon(fault('CLIENT_GONE'))
    this.#source.resume()
    this.#timer = setTimeout(() => this.call.abandon(fault('CLIENT_GONE')), hangup.ms)
  }
  /** Drops a client that reads nothing for `idle_write`. Node counts from the last byte that the
   *  client took, and clears the deadline at the end of the reply. */
  #limitReader(): void {
    const { idleWrite } = this.#lifecycle
    if (this.#backpressure === 'none') {
      this.#backpressure = 'released'
      this.#response.on('timeout', () => {
        if (this.#state !== ENDED) this.call.abandon(fault('CLIENT_SLOW', [idleWrite]))
        this.#response.destroy()
      })
    }
    this.#response.socket?.setTimeout(idleWrite)
  }
  #finish(end: Outcome['end'], status: number, reason?: Fault): void {
    this.#state = ENDED
    clearTimeout(this.#timer)
    this.#pings?.stop()
    this.#closeStream?.()
    this.#lifecycle.end({ end, status, bytes: this.#bodyBytes, fault: reason }, this.#headAt)
  }
}
