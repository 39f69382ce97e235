/** A reply on its way to the client's socket: the head, back-pressure, the last gate, and what a leaving client means. */
import type { ServerResponse } from 'node:http'
import { asFault, errors } from '../errors.ts'
import type { Bytes, Fault, Headers, Out, Outcome, Refusal } from '../plugin.ts'
import type { Call } from '../request/exchange.ts'
import type { CompiledRoute } from '../snapshot/snapshot.ts'
import { unframed } from './headers.ts'
import { awaitRest, lastWords, writeLast } from './lingering-close.ts'
import { plainRefusal } from './refusal.ts'
import { OPEN, type Valve } from './source.ts'

const fault = errors({
  CLIENT_GONE: [499, 'The client left.'],
  CLIENT_SLOW: [499, 'The client read nothing for %d ms.'],
  LENGTH_WRONG: [500, 'the reply is not of the %d bytes its head announced', { expose: false }],
  UPSTREAM_REFUSED: [502, 'The upstream answered %d after the stream had begun.'],
})

export interface DeliveryFacts {
  readonly version: string
  /** ms without a byte read before a slow reader is let go. */
  readonly idleWrite: number
  /** No further request on this connection. */
  closing(): boolean
  /** A stream of events begins. Returns how to say that it ended. */
  streaming(): () => void
  /** Told of what went wrong; the log has what the client must not read. */
  stumbled(reason: Fault): void
  ended(outcome: Outcome, firstByteAt: number): void
}

/** One reply of one call. `deliver` when the pipeline has run, `refuse` when it threw; `ended` is told once. */
export class Delivery implements Out {
  readonly call: Call
  readonly #route: CompiledRoute
  readonly #response: ServerResponse
  readonly #facts: DeliveryFacts
  #valve: Valve = OPEN
  #bytes = 0
  #discarded = 0
  #declared = -1
  #broken = false
  #headAt = 0
  #events = false
  #streamed: (() => void) | undefined
  #gone = false
  #draining = false
  #over = false
  #minded = false
  #grace: NodeJS.Timeout | undefined
  #pings: NodeJS.Timeout | undefined

  constructor(call: Call, route: CompiledRoute, response: ServerResponse, facts: DeliveryFacts) {
    this.call = call
    this.#route = route
    this.#response = response
    this.#facts = facts
    response.on('close', () => this.#closed())
  }
  deliver(): void {
    if (this.#over) return
    const reply = this.call.need()
    if (this.#response.headersSent && reply.status >= 400) {
      const late = fault('UPSTREAM_REFUSED', [reply.status])
      reply.cut(late)
      return this.refuse(late)
    }
    const length = reply.headers['content-length']
    if (typeof length === 'string') this.#declared = Number(length)
    this.#valve = reply.pour(this)
    if (this.#over) return
    if (this.#draining) this.#valve.pause()
    // A stream whose first event is far away: its head tells the client that it stands. What is made of a whole answer may
    // yet turn out to be a refusal.
    if (this.#declared >= 0 || this.#headAt > 0 || this.call.durable) return
    if (reply.headers['content-type'] === 'application/json') return
    if (this.#opened(-1) && !this.#bodiless()) this.#response.flushHeaders()
  }
  /** Comments that keep a silent stream alive until its first byte; commits the head. */
  startPings(every: number): void {
    this.#pings = setInterval(() => {
      if (this.#gone || this.#over) return
      if (this.#headAt === 0) this.#head({ 'content-type': 'text/event-stream' }, 200, -1)
      this.#response.write(': ping\n\n')
    }, every)
  }
  write(chunk: Bytes): void {
    if (this.#over || this.#broken) return
    if (this.#gone) return this.#discard(chunk)
    if (!this.#opened(this.#declared)) return
    clearInterval(this.#pings)
    const size = this.#bytes + chunk.length
    // What is beyond the announced length would be read as the beginning of the next reply.
    if (this.#declared >= 0 && size > this.#declared && !this.#bodiless())
      return this.#break(fault('LENGTH_WRONG', [this.#declared]))
    this.#bytes = size
    if (this.#bodiless() || this.#response.write(chunk)) return
    this.#valve.pause()
    this.#mind()
    if (this.#draining) return
    this.#draining = true
    this.#response.once('drain', () => {
      this.#draining = false
      this.#response.socket?.setTimeout(0)
      this.#valve.resume()
    })
  }
  /** A stage made of the reply what cannot be sent. */
  #break(reason: Fault): void {
    this.#endSource(reason)
    this.#fail(reason)
  }
  end(tail?: Bytes, reason?: Fault): void {
    if (this.#broken) return
    const reply = this.call.need()
    if (reason) reply.told = reason
    if (reply.told) this.#endSource(reply.told)
    // The last byte waits until what the stages wrote down is durable.
    if (!this.call.durable) return this.#complete(tail)
    this.call.writes.commit().then(
      () => this.#complete(tail),
      thrown => this.refuse(asFault(thrown)),
    )
  }
  /** A filter that ends a reply in a fault ends its source: what was used is settled before the tail leaves. */
  #endSource(reason: Fault): void {
    this.#broken = true
    this.call.need().cut(reason)
  }
  fail(reason: Fault): void {
    if (!this.#broken) this.#fail(reason)
  }
  #fail(reason: Fault): void {
    this.#facts.stumbled(reason)
    if (this.call.durable) void this.settle(reason)
    else this.refuse(reason)
  }
  /** In the client's dialect: as an answer, as an event when the head is out, else by breaking off. */
  refuse(reason: Fault): void {
    if (this.#over) return
    if (this.call.answered) this.call.need().cut(reason)
    if (this.#over) return // the cut came out of the source, and through here
    if (this.#gone) return this.#finish('hangup', 499, reason)
    const refusal = this.#route.fail(reason, this.call)
    if (this.#headAt === 0) return this.#refuseWhole(refusal, reason)
    if (refusal.event && this.#events) {
      // What broke off may have broken off within an event: the blank line ends it.
      if (this.#bytes > 0) this.#response.write('\n\n')
      this.#response.end(refusal.event)
    } else this.#response.destroy() // a broken body must not look complete
    this.#finish('cut', this.#response.statusCode, reason)
  }
  #refuseWhole({ status, headers, body }: Refusal, reason: Fault): void {
    const wrong = this.#head(headers, status, body.length)
    if (wrong) {
      this.#facts.stumbled(wrong)
      return this.#refuseWhole({ ...plainRefusal(reason, this.call), headers: {} }, reason)
    }
    this.#bytes += body.length
    lastWords(this.#response, this.#bodiless() ? undefined : body)
    this.#finish('refused', status, reason)
  }
  /** What the stages still want to be durable of a call that never got a reply. */
  async settle(reason: Fault): Promise<void> {
    if (this.call.durable) await this.call.writes.commit().catch(() => {})
    this.refuse(reason)
  }
  #complete(tail: Bytes | undefined): void {
    if (this.#over) return
    if (this.#gone) return this.#finish('hangup', 499, fault('CLIENT_GONE'))
    const size = this.#bytes + (tail?.length ?? 0)
    if (this.#headAt > 0 && this.#declared >= 0 && this.#declared !== size && !this.#bodiless())
      return this.#break(fault('LENGTH_WRONG', [this.#declared]))
    // Of HEAD the length is the one GET would have.
    const headOnly = this.call.request.method === 'HEAD' && this.#declared >= 0
    if (!this.#opened(headOnly ? this.#declared : size)) return
    this.#bytes = size
    writeLast(this.#response, this.#bodiless() ? undefined : tail, this.#bytes)
    awaitRest(this.#response)
    if (this.#response.writableLength > 0) this.#mind()
    const { status, told } = this.call.need()
    this.#finish(told ? 'cut' : 'complete', status, told)
  }
  /** False when the reply can have no head; then it is refused. */
  #opened(length: number): boolean {
    if (this.#headAt > 0) return true
    const { headers, status } = this.call.need()
    const wrong = this.#head(headers, status, length)
    if (wrong) this.#break(wrong)
    return !wrong
  }
  /** What no head can hold, if a stage wrote such a thing. */
  #head(headers: Headers, status: number, length: number): Fault | undefined {
    const list = unframed(headers)
    if (length >= 0 && status !== 204 && status !== 304) list.push('content-length', String(length))
    list.push('x-request-id', this.call.requestId, 'x-tollgate-version', this.#facts.version)
    if (this.call.requestId !== this.call.id) list.push('x-tollgate-request', this.call.id)
    if (this.#facts.closing() || this.call.request.unread) list.push('connection', 'close')
    try {
      this.#response.writeHead(status, list)
    } catch (thrown) {
      return asFault(thrown)
    }
    this.#headAt = performance.now()
    this.#events = String(headers['content-type'] ?? '').startsWith('text/event-stream')
    if (this.#events) this.#streamed = this.#facts.streaming()
    return undefined
  }
  #bodiless(): boolean {
    const { statusCode } = this.#response
    return this.call.request.method === 'HEAD' || statusCode === 204 || statusCode === 304
  }
  /** The client is gone; its route wants the upstream read on, within bounds. */
  #discard(chunk: Bytes): void {
    this.#discarded += chunk.length
    const { hangup } = this.call
    if (hangup !== 'cancel' && this.#discarded > hangup.bytes) this.call.leave(fault('CLIENT_GONE'))
  }
  #closed(): void {
    clearInterval(this.#pings)
    if (this.#over || this.#response.writableFinished) return
    this.#gone = true
    const { hangup } = this.call
    if (hangup === 'cancel') return this.call.leave(fault('CLIENT_GONE'))
    this.#valve.resume()
    this.#grace = setTimeout(() => this.call.leave(fault('CLIENT_GONE')), hangup.ms)
  }
  /** From here on a client that takes nothing is let go. Node counts from the last byte it took, not from the last
   *  buffer, and forgets the deadline with the end of the reply. */
  #mind(): void {
    if (!this.#minded) this.#response.on('timeout', () => this.#stuck())
    this.#minded = true
    this.#response.socket?.setTimeout(this.#facts.idleWrite)
  }
  #stuck(): void {
    if (!this.#over) this.call.leave(fault('CLIENT_SLOW', [this.#facts.idleWrite]))
    this.#response.destroy()
  }
  #finish(end: Outcome['end'], status: number, reason?: Fault): void {
    this.#over = true
    clearInterval(this.#pings)
    clearTimeout(this.#grace)
    this.#streamed?.()
    const outcome = { end, status, attempts: this.call.attempts, bytes: this.#bytes }
    this.#facts.ended(reason ? { ...outcome, fault: reason } : outcome, this.#headAt)
  }
}
