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
import { identityOf, promptOf } from './identity.ts'
import { Recorder } from './recorder.ts'
import type { Exact } from './section.ts'

const fault = errors({
  CACHE_MISS: [504, 'The cache has no answer to this request, and `only-if-cached` is set.'],
})

/** A call whose model uses the cache. `result`: for the header. */
interface Lookup extends CacheControl {
  result: string
}
const LOOKUP: Slot<Lookup> = { name: 'cache-lookup' }
/** One answer, and no call of an upstream. */
const HIT = { meters: { cached_call: 1, calls: 0 }, estimated: false } as const
/** Headers that change what an upstream answers. */
const VARYING = /^(?:openai|anthropic)-/

export interface StageOptions {
  readonly cache: Cache
  readonly exact: Exact
  readonly metrics: Metrics
  /** The configuration of each model as JSON, by its key in `models:`. Another one makes other
   *  answers: its entries do not hit. */
  readonly versions: ReadonlyMap<string, string>
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
    const lookup: Lookup = { ...control, result: 'bypass' }
    slots.set(LOOKUP, lookup)
    await next()
    exchange.reply.headers['x-tollgate-cache'] = lookup.result
    this.#options.metrics.count('cache_total', { model, result: lookup.result.split(';')[0] ?? '' })
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
    const { entry, flight } = await this.#find(outgoing.key, lookup, attempt.exchange.signal)
    if (entry && this.#answer(attempt, outgoing, entry, lookup)) return
    if (lookup.onlyCached) {
      flight?.end('failed')
      throw fault('CACHE_MISS')
    }
    lookup.result = 'miss'
    await this.#lead(attempt, outgoing, next, flight)
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
    const key = identityOf(prompt, {
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
    })
    return { codec, prompt, key, model, account: account.id }
  }
  #find(key: string, { oldest, onlyCached }: Lookup, signal: AbortSignal) {
    const { cache } = this.#options
    if (oldest === Infinity && !onlyCached) return { entry: undefined, flight: cache.lead(key) }
    return cache.find(key, oldest, signal)
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
      lookup.result = `hit; age=${age}; kind=exact`
      exchange.slots.set(CACHED, { request: entry.request })
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
    if (flight) exchange.onEnd(() => flight.end('failed'))
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
        const { key: id, account, model } = outgoing
        this.#options.cache.add({ ...entry, id, account, model })
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
          'For models with `cache: exact`: `hit; age=12; kind=exact`, `miss`, or `bypass`',
      },
    }
  }
}
interface OutgoingRequest {
  readonly codec: Codec
  readonly prompt: Prompt
  readonly key: string
  readonly model: string
  readonly account: number
}
