/** The cache on one route. Its place is where attempts leave, behind guards and budgets: it answers
 *  instead of an upstream, in the format in which the attempt is sent. */
import { errors } from '../../engine/errors.ts'
import type { Attempt, Exchange, Metrics, Next, Slot, Stage } from '../../engine/plugin.ts'
import type { Codec } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { ACCOUNT, bareId, CACHED, GUARD_VERSION, MODEL, SENT_FORMAT, USAGE } from '../slots.ts'
import { placeOf } from '../zones/rule.ts'
import type { Cache, Flight } from './cache.ts'
import { type CacheControl, readCacheControl } from './cache-control.ts'
import { decodeWhole, type Entry, encodeEntry } from './entry.ts'
import { identityOf, promptOf, type Scope } from './identity.ts'
import { Recorder } from './recorder.ts'
import type { Exact } from './section.ts'
import {
  type KnownVectors,
  type Question,
  type SimilarAnswers,
  storedQuestionOf,
} from './similar.ts'
import { THRESHOLD_HEADER, thresholdOf } from './threshold.ts'

const fault = errors({
  CACHE_MISS: [504, 'The cache has no answer to this request, and `only-if-cached` is set.'],
})

/** A call whose model uses the cache. `result`: for the header. */
interface Lookup extends CacheControl {
  result: string
  /** Undefined: it takes answers to equal requests only. */
  readonly threshold: number | undefined
  readonly vectors: KnownVectors
}
const LOOKUP: Slot<Lookup> = { name: 'cache-lookup' }
/** One answer, and no call of an upstream. */
const HIT = {
  meters: { cached_call: 1, calls: 0 },
  estimated: false,
  isFinalEstimate: true,
} as const
/** Headers that change what an upstream answers. */
const VARYING = /^(?:openai|anthropic)-/

export interface StageOptions {
  readonly cache: Cache
  readonly exact: Exact
  readonly metrics: Metrics
  /** The configuration of each model as JSON, by its key in `models:`. Another one makes other
   *  answers: its entries do not hit. */
  readonly versions: ReadonlyMap<string, string>
  /** Of models with `cache: semantic`, by their keys in `models:`. */
  readonly similar: ReadonlyMap<string, SimilarAnswers>
  /** Formats that can be read and written, by name. */
  codec(name: string): Codec | undefined
}

export class CacheStage implements Stage {
  readonly #options: StageOptions
  constructor(options: StageOptions) {
    this.#options = options
  }
  async handle(exchange: Exchange, next: Next): Promise<void> {
    const { slots, request, kind } = exchange
    const model = slots.get(MODEL)?.entry ?? ''
    if (!this.#options.versions.has(model) || kind === 'websocket' || !slots.get(ACCOUNT))
      return next()
    const control = readCacheControl(request.headers['cache-control'], Date.now())
    if (control.isOff) return next()
    const similar = this.#options.similar.get(model)
    const threshold = similar && thresholdOf(headerOf(exchange), similar.threshold)
    const lookup: Lookup = { ...control, result: 'bypass', threshold, vectors: new Map() }
    slots.set(LOOKUP, lookup)
    await next()
    exchange.reply.headers['x-tollgate-cache'] = lookup.result
    this.#options.metrics.count('cache_total', { model, result: labelOf(lookup.result) })
    if (!slots.get(CACHED)) return
    exchange.reply.through({
      end(tail, out) {
        slots.set(USAGE, HIT)
        out.end(tail)
      },
    })
  }
  async forward(attempt: Attempt, next: Next): Promise<void> {
    const lookup = attempt.exchange.slots.get(LOOKUP)
    if (!lookup) return next()
    lookup.result = 'bypass'
    const outgoing = this.#read(attempt)
    if (!outgoing) {
      if (lookup.onlyCached) throw fault('CACHE_MISS')
      return next()
    }
    const { exchange } = attempt
    const { entry, flight } = await this.#find(outgoing.key, lookup, exchange.signal)
    if (flight) exchange.onEnd(() => flight.end('failed'))
    if (entry && this.#answer(attempt, outgoing, entry, lookup)) return
    const question = await this.#ask(exchange, outgoing, lookup)
    const similar = question && (await this.#findSimilar(outgoing, question, lookup))
    if (similar && this.#answer(attempt, outgoing, similar, lookup)) return flight?.end(similar)
    if (lookup.onlyCached) {
      flight?.end('failed')
      throw fault('CACHE_MISS')
    }
    lookup.result = 'miss'
    await this.#lead(attempt, { ...outgoing, question }, next, flight)
  }
  /** The request of an attempt, if it can be answered from the cache. */
  #read({ exchange, request, target }: Attempt): OutgoingRequest | undefined {
    const { slots } = exchange
    const codec = this.#options.codec(slots.get(SENT_FORMAT) ?? '')
    if (!codec || !(request.body instanceof Uint8Array)) return undefined
    const { any_temperature: anyTemperature, share } = this.#options.exact
    const prompt = promptOf(codec, request.body, request.path, { anyTemperature })
    const account = slots.get(ACCOUNT)
    if (!prompt || !account) return undefined
    const model = slots.get(MODEL)?.entry ?? ''
    const scope: Scope = {
      account: account.id,
      member: share === 'member' ? (account.member?.id ?? null) : null,
      share,
      model,
      target: target.name ?? '',
      place: placeOf(exchange.progress.upstream),
      versions: [this.#options.versions.get(model) ?? '', slots.get(GUARD_VERSION) ?? ''],
      headers: Object.entries(request.headers)
        .filter(([name]) => VARYING.test(name))
        .map(([name, value]) => `${name}: ${value}`)
        .sort(),
    }
    return { codec, prompt, scope, key: identityOf(prompt, scope) }
  }
  #find(key: string, { oldest, onlyCached, threshold }: Lookup, signal: AbortSignal) {
    const { cache } = this.#options
    if (oldest === Infinity && !onlyCached) return { entry: undefined, flight: cache.lead(key) }
    return cache.find(key, oldest, signal, threshold)
  }
  /** The last text as a vector, for a request that takes answers to similar texts. */
  async #ask(
    exchange: Exchange,
    { prompt, scope }: OutgoingRequest,
    { threshold, vectors }: Lookup,
  ): Promise<Question | undefined> {
    if (threshold === undefined) return undefined
    return this.#options.similar.get(scope.model)?.ask(exchange, { prompt, scope }, vectors)
  }
  async #findSimilar(
    { scope: { account, model } }: OutgoingRequest,
    question: Question,
    { threshold = 1, oldest }: Lookup,
  ): Promise<Entry | undefined> {
    if (oldest === Infinity) return undefined
    return this.#options.similar.get(model)?.find(account, question, { threshold, oldest })
  }
  /** False: the answer cannot be written in this format. */
  #answer(attempt: Attempt, outgoing: OutgoingRequest, entry: Entry, lookup: Lookup): boolean {
    const { exchange, request, target } = attempt
    const context = {
      id: bareId(exchange),
      model: target.name ?? '',
      prompt: outgoing.prompt,
      path: request.path,
    }
    try {
      const { type, body } = encodeEntry(outgoing.codec, entry, context)
      const age = Math.max(0, Math.floor((Date.now() - entry.at) / 1_000))
      lookup.result = `hit; age=${age}; ${kindOf(entry)}`
      exchange.slots.set(CACHED, { request: entry.request, usage: HIT })
      attempt.answer(200, body, { 'content-type': type })
      return true
    } catch {
      return false
    }
  }
  /** Sends the attempt, and stores its answer. */
  async #lead(
    attempt: Attempt,
    outgoing: OutgoingRequest,
    next: Next,
    flight: Flight | undefined,
  ): Promise<void> {
    const { exchange } = attempt
    try {
      await next()
    } catch (error) {
      flight?.end('failed')
      throw error
    }
    const { reply } = attempt
    if (reply.status !== 200) return flight?.end('unstorable')
    const isStream = String(reply.headers['content-type']).startsWith('text/event-stream')
    const recorder = new Recorder(
      this.#options.exact.largest,
      body => {
        const answer = body && decodeWhole(outgoing.codec, body, isStream)
        if (!answer) return flight?.end('unstorable')
        const entry = { request: exchange.id, at: Date.now(), text: JSON.stringify(answer) }
        const { key: id, scope, question } = outgoing
        const { account, model } = scope
        const stored = question && storedQuestionOf(question)
        this.#options.cache.add({ ...entry, id, account, model, question: stored })
        flight?.end(entry)
      },
      () => flight?.end('failed'),
    )
    reply.through(recorder)
  }
  describe() {
    return {
      headers: {
        'x-tollgate-cache':
          'For models with `cache:`: `hit; age=12; kind=exact`, `hit; age=12; kind=semantic; similarity=0.9731`, `miss`, or `bypass`',
      },
      ...(this.#options.similar.size > 0 && { parameters: [THRESHOLD] }),
    }
  }
}
interface OutgoingRequest {
  readonly codec: Codec
  readonly prompt: Prompt
  readonly scope: Scope
  readonly key: string
  readonly question?: Question | undefined
}
const THRESHOLD = {
  name: THRESHOLD_HEADER,
  in: 'header',
  description:
    'For models with `cache: semantic`: the similarity from which on an answer to another text is taken, if it is higher than that of the gateway. 1: answers to equal requests only.',
  schema: { type: 'number', minimum: 0, maximum: 1 },
} as const
const headerOf = ({ request }: Exchange): string | undefined => request.headers[THRESHOLD_HEADER]

const SEMANTIC = 'kind=semantic'
/** Rounded down: a similarity below the threshold is never shown. */
const kindOf = ({ similarity }: Entry): string => {
  if (similarity === undefined) return 'kind=exact'
  return `${SEMANTIC}; similarity=${Math.min(1, Math.floor(similarity * 10_000) / 10_000)}`
}
/** For the metric. */
const labelOf = (result: string): string =>
  result.includes(SEMANTIC) ? 'similar' : (result.split(';')[0] ?? '')
