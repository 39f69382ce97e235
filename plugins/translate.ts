/** Between the client's wire format and the target's. The same on both sides: bytes pass untouched, only the model's name
 *  is the target's own, and what the answer says of usage and of its end is seen on its way. */
import { errors } from '../engine/errors.ts'
import type {
  Attempt,
  Bytes,
  Exchange,
  Fault,
  Host,
  Log,
  Plugin,
  Reply,
  Target,
} from '../engine/plugin.ts'
import { bodyOf, render } from './dialects/index.ts'
import { type Asking, type Fields, type Format, isFields } from './formats/format.ts'
import { formats } from './formats/index.ts'
import { put, rename } from './formats/outgoing.ts'
import { eventsIn, hasEvent, isEventStream, type SseEvent } from './formats/sse.ts'
import { AnswerWatch, type Marks, marksOf, StreamWatch, type Watch } from './formats/watch.ts'
import { BROKEN, METERED, MODEL, OUTPUT_LIMIT, USAGE } from './slots.ts'

const fault = errors({
  MODEL_NOT_HERE: [404, "The model '%s' is not available on this endpoint.", { param: 'model' }],
  UPSTREAM_KEY_REFUSED: [
    502,
    'The upstream does not accept the key of this gateway. Its operator has been told.',
    { retryable: true },
  ],
  UPSTREAM_REDIRECTED: [502, 'The upstream answered with a redirect, which is not followed.'],
  UPSTREAM_TRUNCATED: [502, 'The upstream ended its stream before it was complete.'],
  UPSTREAM_LINGERS: [502, 'The upstream left its connection open after the end of its stream.'],
})

/** More of an error than this nobody reads. */
const ERROR_LIMIT = 1024 * 1024
/** A first event longer than this is no error. */
const PEEK_LIMIT = 64 * 1024
/** What says that the gateway's own credential is at fault: none of the customer's business, and never his 401. */
const KEY_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])
const names = [...formats.keys()]

export default {
  schema: {
    description: 'The wire format that clients of this route speak.',
    type: 'string',
    enum: names,
    examples: ['openai-chat'],
  },
  upstream: {
    formats: {
      description: 'The wire formats this upstream speaks. Without it: whichever it is asked in.',
      type: 'array',
      items: {
        type: 'string',
        enum: names,
        description: 'A wire format.',
        examples: ['openai-chat'],
      },
      minItems: 1,
      uniqueItems: true,
      examples: [['openai-chat', 'openai-responses']],
    },
  },
  setup(name, host) {
    const format = formats.get(name)
    if (!format) throw new Error(`there is no format "${name}"; there are ${names.join(', ')}`)
    const identity = new Identity(format, host)
    return {
      handle(exchange, next) {
        identity.judge(exchange)
        return next()
      },
      forward: (attempt, next) => identity.forward(attempt, next),
      explain: () => ({ format: name, bytes: 'pass untouched but for the name of the model' }),
    }
  },
} satisfies Plugin<string>

/** One route's side of it, where client and target speak the same format. */
class Identity {
  readonly #format: Format
  readonly #host: Host
  readonly #marks: Marks
  readonly #deaf: ReadonlySet<string>

  constructor(format: Format, host: Host) {
    this.#format = format
    this.#host = host
    this.#marks = marksOf(format)
    const views = Object.entries(host.upstreams)
    this.#deaf = new Set(views.filter(each => !speaks(each[1], format)).map(([name]) => name))
  }
  /** Leaves out targets that speak another format. */
  judge(exchange: Exchange): void {
    const deaf = (target: Target): boolean => this.#deaf.has(target.upstream)
    if (this.#deaf.size === 0 || !exchange.targets.some(deaf)) return
    exchange.targets = exchange.targets.filter(target => !deaf(target))
    if (exchange.targets.length === 0)
      throw fault('MODEL_NOT_HERE', [exchange.slots.get(MODEL)?.asked ?? ''])
  }
  async forward(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const addressed = this.#address(attempt)
    if (addressed) await addressed
    const hidden = this.#ask(attempt)
    this.#bound(attempt)
    await next()
    const { reply } = attempt
    if (reply.status >= 300) return this.#refused(attempt, reply)
    // Nobody asked for a compressed answer. What cannot be read passes unwatched, and says so.
    if (reply.headers['content-encoding'] !== undefined)
      return attempt.exchange.slots.set(USAGE, { meters: {}, estimated: true })
    if (isEventStream(reply)) return this.#stream(attempt, reply, hidden)
    reply.through(new AnswerWatch(this.#marks, this.#watch(attempt)))
  }
  /** The model by the target's own name. */
  #address({ request, target, exchange }: Attempt): Promise<void> | undefined {
    const { model, headers } = this.#format
    for (const name in headers) request.headers[name] ??= headers[name] ?? ''
    request.headers['content-type'] = 'application/json'
    const asked = exchange.slots.get(MODEL)?.asked
    if (model !== 'body') {
      request.path = model.rename(request.path, target.name)
      return undefined
    }
    if (target.name === undefined || target.name === asked) return undefined
    return rename(request, exchange, target.name)
  }
  /** Of a call that is paid for by its counts, the upstream is asked for them. Returns which events then are not for the
   *  client, who did not. */
  #ask({ request, exchange }: Attempt): Asking['only'] | undefined {
    const { asking } = this.#format.stream
    const body = exchange.request.parsed
    if (!asking || !isFields(body) || !exchange.slots.get(METERED)) return undefined
    const member = asking.member(body)
    return member && put(request, body, member) ? asking.only : undefined
  }
  /** What the balance covers is said to the upstream where the client named no bound. */
  #bound({ request, exchange }: Attempt): void {
    const tokens = exchange.slots.get(OUTPUT_LIMIT)
    const body = exchange.request.parsed
    if (tokens === undefined || !isFields(body)) return
    put(request, body, this.#format.outputLimit(body, tokens))
  }
  async #stream(attempt: Attempt, reply: Reply, hidden: Asking['only'] | undefined): Promise<void> {
    const first = await reply.peek(seen => seen.length > PEEK_LIMIT || hasEvent(seen))
    const event = first && eventsIn(first).find(each => each.data !== undefined)
    const error = event && this.#format.stream.error(event)
    if (error) return this.#failed(attempt, reply, error)
    delete reply.headers['content-length'] // an error event would not fit into what was promised
    reply.through(new StreamWatch(this.#marks, this.#watch(attempt), hidden))
  }
  /** An error behind a 200 is the error it says it is, as long as nothing has been sent. */
  async #failed(
    attempt: Attempt,
    reply: Reply,
    { status, body }: { readonly status: number; readonly body: Fields },
  ): Promise<void> {
    await abandon(reply)
    if (KEY_STATUSES.has(status)) throw this.#blame(attempt, status, JSON.stringify(body))
    const { 'retry-after': wait } = reply.headers
    attempt.answer(status, body, wait === undefined ? {} : { 'retry-after': wait })
  }
  /** An error passes as it is, status and Retry-After with it, unless it would blame the customer for our key. */
  async #refused(attempt: Attempt, reply: Reply): Promise<void> {
    const { status } = reply
    const { blamesKey } = this.#format
    if (status < 400) {
      await abandon(reply)
      throw fault('UPSTREAM_REDIRECTED')
    }
    if (!KEY_STATUSES.has(status) && !(blamesKey && status === 400)) return
    const body = await reply.bytes(ERROR_LIMIT)
    if (KEY_STATUSES.has(status) || blamesKey?.(status, body))
      throw this.#blame(attempt, status, Buffer.from(body).toString())
  }
  #blame({ target, exchange }: Attempt, status: number, body: string): Fault {
    const { upstream } = target
    const said = body.slice(0, 500)
    this.#host.log.error({ id: exchange.id, upstream, status, said }, 'upstream refuses our key')
    return fault('UPSTREAM_KEY_REFUSED')
  }
  #watch({ exchange, target }: Attempt): Watch {
    return new AttemptWatch(this.#format, this.#host.log, exchange, target)
  }
}

/** What the watchers of one attempt's answer tell, in the words of its format. */
class AttemptWatch implements Watch {
  readonly #format: Format
  readonly #log: Log
  readonly #exchange: Exchange
  readonly #target: Target
  constructor(format: Format, log: Log, exchange: Exchange, target: Target) {
    this.#format = format
    this.#log = log
    this.#exchange = exchange
    this.#target = target
  }
  counted(counts: Fields | undefined, whole: boolean): void {
    const meters = counts ? this.#format.usage.meters(counts) : {}
    this.#exchange.slots.set(USAGE, { meters, estimated: !whole || counts === undefined })
  }
  failure(reason: Fault, last: SseEvent | undefined): Bytes {
    const { dialect, stream } = this.#format
    const { id } = this.#exchange
    const { upstream } = this.#target
    this.#log.warn({ id, upstream, code: reason.code }, 'a stream ended in an error')
    return stream.failure
      ? stream.failure(bodyOf(dialect, reason, id), last)
      : (render(dialect, reason, id).event ?? Buffer.alloc(0))
  }
  truncated(): Fault {
    return fault('UPSTREAM_TRUNCATED')
  }
  broke(): void {
    this.#exchange.slots.set(BROKEN, true)
  }
  lingers(): void {
    this.#exchange.cut(fault('UPSTREAM_LINGERS'))
  }
}

const speaks = ({ options }: Host['upstreams'][string], { name }: Format): boolean =>
  !Array.isArray(options.formats) || options.formats.includes(name)

/** Lets go of an answer nobody will read: whoever stops reading ends the upstream's side too. */
const abandon = async ({ body }: Reply): Promise<void> => {
  if (!body || body instanceof Uint8Array) return
  try {
    for await (const _ of body) break
  } catch {
    // it broke by itself
  }
}
