/** Turns one call into spans: one of the server without usage, and one of the client for each
 *  attempt. The attempt that answered has usage and cost, so that sums count them once. */
import { isFields } from '../../engine/kit.ts'
import { hideSecrets } from '../../engine/observe/secret-text.ts'
import type { Attempt, Exchange, Fault, Outcome, Slot } from '../../engine/plugin.ts'
import { unitsOf } from '../billing/money.ts'
import { isForEmbeddings } from '../conversion/route-format.ts'
import type { FinishFacts } from '../formats/format.ts'
import { asksForStream } from '../formats/stream-request.ts'
import { ACCOUNT, CHARGE, GUARD_VERDICT, MODEL, RULE, SERVED, USAGE } from '../slots.ts'
import type { Exporter } from './exporter.ts'
import { FinishReasons } from './finish-reasons.ts'
import type { Attributes, Span } from './otlp.ts'
import type { Always, Section } from './section.ts'
import {
  type Inference,
  inferenceAttributes,
  outputOf,
  promptOf,
  requestAttributes,
} from './semantics.ts'

/** An attempt; times of `performance.now()`. */
interface Try {
  readonly id: string
  readonly upstream: string
  readonly model: string | undefined
  readonly start: number
  /** Of its response. */
  finish?: FinishReasons
  /** Of the failure; an attempt that answered ends with the call. */
  end?: number
  status?: number
  error?: string
}
interface RequestFacts {
  readonly isStream: boolean
  /** Undefined for a call that is only recorded if it ends with an error. */
  readonly attributes: readonly Attributes[] | undefined
}
interface Call {
  readonly tries: Try[]
  /** Read while the attempt runs: the JSON of the request is dropped then, and parsed again for
   *  whoever reads it later. */
  request?: RequestFacts
}
/** The parts of a recorded call that the spans of its attempts have in common. */
interface Recorded {
  readonly server: Span
  readonly request: readonly Attributes[]
  readonly outcome: Outcome
}
const CALL: Slot<Call> = { name: 'telemetry call' }

/** The members of the client's `traceparent`, if its trace is that of the call. */
const PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/
const SAMPLED = 1
/** Characters of `tracestate` that are kept, as the standard asks. */
const LONGEST_STATE = 512

export interface RecorderOptions {
  readonly section: Section
  readonly exporter: Exporter
  readonly currency: string
  /** Of the client's format; undefined: its answers do not say why they ended. */
  readonly finish: FinishFacts | undefined
  /** The name of the provider of an upstream. */
  provider(upstream: string): string
}

export class Recorder {
  readonly #options: RecorderOptions
  readonly #slow: number
  readonly #errors: boolean
  readonly #blocked: boolean
  constructor(options: RecorderOptions) {
    this.#options = options
    const always: readonly Always[] = options.section.always
    const has = (word: string) => always.some(each => 'word' in each && each.word === word)
    this.#errors = has('error')
    this.#blocked = has('blocked')
    this.#slow = Math.min(...always.map(each => ('slow' in each ? each.slow : Infinity)))
  }
  /** Begins the record of a call. */
  begin(exchange: Exchange): void {
    exchange.slots.set(CALL, { tries: [] })
    exchange.onEnd(outcome => this.#end(exchange, outcome))
  }
  /** Records an attempt. A call without a record, such as a poll of a task, has none. */
  async attempt(attempt: Attempt, next: () => Promise<void>): Promise<void> {
    const call = attempt.exchange.slots.get(CALL)
    if (!call) return next()
    const { tries } = call
    const { headers } = attempt.request
    const { upstream, name: model } = attempt.target
    const id = PARENT.exec(String(headers.traceparent))?.[2] ?? attempt.exchange.id.slice(-16)
    const each: Try = { id, upstream, model, start: performance.now() }
    const before = tries.at(-1)
    if (before && before.end === undefined) {
      // The status of its reply led to this attempt.
      before.end = each.start
      before.error = String(before.status)
    }
    tries.push(each)
    this.#propagate(attempt)
    try {
      await next()
      each.status = attempt.reply.status
      call.request ??= this.#readRequest(attempt.exchange)
      if (call.request.attributes) this.#watchFinish(each, attempt)
    } catch (error) {
      each.end = performance.now()
      each.error = (error as Fault).code ?? 'ERROR'
      throw error
    } finally {
      call.request ??= this.#readRequest(attempt.exchange)
    }
  }
  #readRequest(exchange: Exchange): RequestFacts {
    return {
      isStream: asksForStream(exchange.request),
      attributes: this.#mayBeRecorded(exchange) ? this.#requestAttributes(exchange) : undefined,
    }
  }
  #requestAttributes({ request: { outlined } }: Exchange): readonly Attributes[] {
    return requestAttributes(this.#options.section.conventions, isFields(outlined) ? outlined : {})
  }
  #watchFinish(each: Try, { reply }: Attempt): void {
    const { finish } = this.#options
    if (!finish || reply.status >= 300) return
    each.finish = new FinishReasons(finish)
    reply.through(each.finish)
  }
  /** Sends `tracestate` on, and of `baggage` what the configuration names. */
  #propagate({ exchange, request }: Attempt): void {
    const { tracestate, baggage } = exchange.request.headers
    if (tracestate !== undefined && parentOf(exchange)) request.headers.tracestate = tracestate
    const members = listedBaggage(baggage, this.#options.section.baggage)
    if (members.length > 0)
      request.headers.baggage = members.map(([name, value]) => `${name}=${value}`).join(',')
  }
  #end(exchange: Exchange, outcome: Outcome): void {
    const call = exchange.slots.get(CALL)
    const last = call?.tries.at(-1)
    // The client may have left while an attempt runs.
    if (call && last) call.request ??= this.#readRequest(exchange)
    const inference = last && this.#inference(exchange, last, outcome)
    if (inference) this.#measure(inference, outcome)
    if (!this.#isRecorded(exchange, outcome)) return
    const { exporter, section } = this.#options
    const server = serverSpan(exchange, outcome, section.baggage)
    exporter.add(server)
    if (!call) return
    const request = call.request?.attributes ?? this.#requestAttributes(exchange)
    for (const each of call.tries) {
      const own = each === last && inference ? inference : this.#inference(exchange, each)
      exporter.add(this.#clientSpan({ server, request, outcome }, each, own))
    }
  }
  #isRecorded(exchange: Exchange, { ms, end, status, fault }: Outcome): boolean {
    if (ms.whole > this.#slow) return true
    if (this.#errors && (end === 'cut' || status >= 500)) return true
    if (this.#blocked && fault?.code === 'GUARD_BLOCKED') return true
    return this.#isSampled(exchange)
  }
  /** Whether it may be, if it ends well. */
  #mayBeRecorded(exchange: Exchange): boolean {
    return this.#slow < Infinity || this.#blocked || this.#isSampled(exchange)
  }
  #isSampled(exchange: Exchange): boolean {
    const parent = parentOf(exchange)
    if (parent) return (Number.parseInt(parent.flags, 16) & SAMPLED) === SAMPLED
    // The trace id decides, so that every process and a part of the attempts decide alike.
    return Number.parseInt(exchange.trace.slice(-8), 16) < this.#options.section.share * 2 ** 32
  }
  /** `outcome`: of the attempt that answered, which has usage and cost. */
  #inference(exchange: Exchange, each: Try, outcome?: Outcome): Inference {
    const { slots, route } = exchange
    const served = outcome && slots.get(SERVED)
    const charge = outcome && slots.get(CHARGE)
    const isStream = outcome !== undefined && slots.get(CALL)?.request?.isStream === true
    const first = outcome?.ms.first
    return {
      operation: isForEmbeddings(route) ? 'embeddings' : 'chat',
      provider: this.#options.provider(each.upstream),
      requestModel: each.model ?? slots.get(MODEL)?.entry,
      responseModel: served?.model,
      responseId: served?.id,
      finishReasons: outcome?.end === 'complete' ? each.finish?.reasons : undefined,
      isStream,
      meters: outcome && each.error === undefined ? slots.get(USAGE)?.meters : undefined,
      firstChunk:
        isStream && first !== undefined
          ? Math.max(0, first - (each.start - exchange.startedAt)) / 1_000
          : undefined,
      cost: charge && {
        amount: unitsOf(charge.nanos),
        currency: this.#options.currency,
      },
    }
  }
  #measure({ meters = {}, ...inference }: Inference, { ms, fault }: Outcome): void {
    this.#options.exporter.measures.add({
      operation: inference.operation,
      provider: inference.provider,
      model: inference.requestModel ?? '',
      error: fault?.code ?? '',
      seconds: ms.whole / 1_000,
      firstChunk: inference.firstChunk,
      input: promptOf(meters),
      output: outputOf(meters),
      charged: inference.cost?.amount ?? 0,
    })
  }
  #clientSpan({ server, request, outcome }: Recorded, each: Try, inference: Inference): Span {
    const isLast = each.end === undefined
    const error = each.error ?? (isLast ? errorOf(outcome) : undefined)
    return {
      trace: server.trace,
      id: each.id,
      parent: server.id,
      state: server.state,
      kind: 'client',
      name: `${inference.operation} ${inference.requestModel ?? ''}`.trim(),
      start: performance.timeOrigin + each.start,
      end: each.end === undefined ? server.end : performance.timeOrigin + each.end,
      attributes: [
        ...request,
        ...inferenceAttributes(this.#options.section.conventions, inference),
        {
          'http.response.status_code': each.status,
          'tollgate.upstream': each.upstream,
          'error.type': error,
        },
      ],
      error,
    }
  }
}

const parentOf = ({ request, trace }: Exchange) => {
  const [, id, span, flags = '00'] = PARENT.exec(request.headers.traceparent ?? '') ?? []
  return id === trace && span !== undefined ? { span, flags } : undefined
}

/** Members of `baggage` with these names. Properties behind a value are dropped. */
const listedBaggage = (
  baggage: string | undefined,
  names: readonly string[],
): (readonly [name: string, value: string])[] => {
  if (baggage === undefined || names.length === 0) return []
  return baggage.split(',').flatMap(member => {
    const [name = '', value = ''] = (member.split(';')[0] ?? '').split('=', 2).map(e => e.trim())
    return names.includes(name) ? [[name, value] as const] : []
  })
}

/** The code of the fault, or the status of a response that is an error. */
const errorOf = ({ fault, status, end }: Outcome): string | undefined => {
  if (fault) return fault.code
  if (status >= 400) return String(status)
  return end === 'hangup' ? 'client_left' : undefined
}

const serverSpan = (exchange: Exchange, outcome: Outcome, listed: readonly string[]): Span => {
  const { id, trace, request, route, slots, startedAt } = exchange
  const parent = parentOf(exchange)
  const start = performance.timeOrigin + startedAt
  const account = slots.get(ACCOUNT)
  const state = parent && request.headers.tracestate?.slice(0, LONGEST_STATE)
  const error = errorOf(outcome)
  const members = listedBaggage(request.headers.baggage, listed)
  const baggage = members.map(([name, value]) => ({ [`baggage.${name}`]: value }))
  return {
    trace,
    id: id.slice(-16),
    parent: parent?.span,
    state,
    kind: 'server',
    name: `${request.method} ${route.pattern}`,
    start,
    end: start + outcome.ms.whole,
    attributes: [
      {
        'http.request.method': request.method,
        'http.route': route.pattern,
        'url.path': hideSecrets(request.path),
        'http.response.status_code': outcome.status,
        'error.type': error,
        'tollgate.request': id,
        'tollgate.account': account?.name,
        'tollgate.key': account?.key?.id,
        'tollgate.model': slots.get(MODEL)?.entry,
        'tollgate.attempts': outcome.attempts,
        'tollgate.rule': slots.get(RULE),
        'tollgate.guard': slots.get(GUARD_VERDICT),
      },
      ...baggage,
    ],
    // A refusal of the client's request is not a fault of the server.
    error: outcome.status >= 500 || outcome.end === 'cut' ? error : undefined,
  }
}
