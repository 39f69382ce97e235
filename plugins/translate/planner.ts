/** Translation planner of one route: chooses pass-through or a translator for each attempt, by the
 *  formats that the target supports. */
import type { Attempt, Exchange, Host, Json, Next, Target } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import { isFields } from '../formats/fields.ts'
import type { Format, TargetFormat } from '../formats/format.ts'
import { offersHostedTools } from '../formats/hosted-tools.ts'
import { hasForeignPayload } from '../formats/hub/opaque-payload.ts'
import { canReach, reachableFormats, targetFormatsOf } from '../formats/reachability.ts'
import { supportedFormats, supportsFormat, translationOrder } from '../formats/supported-formats.ts'
import { EXPANDED_REQUEST, MODEL, NAMED_FILES, SENT_FORMAT, UNREACHABLE } from '../slots.ts'
import { hasChanges, showParts, showPrompt } from './listeners/listening.ts'
import { addCachedMembers, thinksByDefault } from './model-defaults.ts'
import { PassThrough } from './pass-through.ts'
import { createContext, namesAskedModel, type RouteOptions } from './route-context.ts'
import {
  factsOf,
  isTranslatable,
  mediaRulesOf,
  refusesMedia,
  type TranslatableFormat,
  type TranslationContext,
} from './translation-context.ts'
import { Translator } from './translator.ts'

export class TranslationPlanner {
  readonly #format: Format
  readonly #passThrough: PassThrough
  /** Target format name -> translator. */
  readonly #translators = new Map<string, Translator>()
  readonly #upstreams: Host['upstreams']
  readonly #context: TranslationContext
  readonly #targetFormats: ReadonlyMap<string, TargetFormat>

  constructor(format: Format, options: RouteOptions, host: Host) {
    const { log, upstreams } = host
    const context = createContext(host, options)
    this.#format = format
    this.#targetFormats = targetFormatsOf(host)
    this.#context = context
    this.#passThrough = new PassThrough(format, log, namesAskedModel(host))
    for (const target of isTranslatable(format)
      ? reachableFormats(format.codec, this.#targetFormats)
      : [])
      this.#translators.set(
        target.name,
        new Translator(format as TranslatableFormat, target, context),
      )
    this.#upstreams = upstreams
  }
  /** Removes targets that no translator reaches. Throws MODEL_NOT_HERE if none is left. */
  removeUnreachable(exchange: Exchange): void {
    const { targets, request } = exchange
    const refusal = isFields(request.outlined) && this.#format.ownOnly?.(request.outlined)
    const isReachable = (target: Target): boolean =>
      refusal ? this.#supportsClientFormat(this.#formatsOf(target)) : this.#isReachable(target)
    if (targets.every(isReachable)) return
    exchange.targets = targets.filter(isReachable)
    exchange.slots.set(
      UNREACHABLE,
      targets.filter(target => !isReachable(target)),
    )
    if (exchange.targets.length === 0 && refusal) throw refusal
    if (exchange.targets.length === 0)
      throw fault('MODEL_NOT_HERE', [exchange.slots.get(MODEL)?.asked ?? ''])
  }
  forward(attempt: Attempt, next: Next): Promise<void> {
    const decoding = showPrompt(attempt.exchange, this.#format.codec, this.#context)
    return decoding ? decoding.then(() => this.#send(attempt, next)) : this.#send(attempt, next)
  }
  #send(attempt: Attempt, next: Next): Promise<void> {
    const facts = factsOf(attempt, this.#context)
    const { upstream } = attempt.target
    const { request } = attempt.exchange
    const media = mediaRulesOf(this.#format.codec, { ...facts, upstream }, this.#context)
    if (media && request.outlined === undefined)
      return request.outline().then(() => this.#send(attempt, next))
    const plan = this.#planFor(attempt, facts, media)
    attempt.exchange.slots.set(
      SENT_FORMAT,
      plan instanceof Translator ? plan.format : this.#format.name,
    )
    if (plan instanceof Translator) return plan.forward(attempt, next, facts)
    addCachedMembers(attempt, this.#format, this.#context.autoCache)
    return plan.forward(attempt, showParts(attempt, this.#format.codec, next), facts)
  }
  #planFor(
    { target, exchange, request }: Attempt,
    { traits }: ReturnType<typeof factsOf>,
    media: ReturnType<typeof mediaRulesOf>,
  ): PassThrough | Translator {
    const formatNames = this.#formatsOf(target)
    const { outlined } = exchange.request
    if (!this.#supportsClientFormat(formatNames))
      return this.#translatorFor(this.#ordered(target, outlined), outlined) ?? this.#passThrough
    if (hasChanges(exchange)) return this.#rewriter()
    if (thinksByDefault(target.traits) || exchange.slots.get(EXPANDED_REQUEST)?.longer)
      return this.#rewriter()
    if (isFields(outlined) && this.#format.codec?.needsTranslation?.(outlined, traits))
      return (
        this.#translatorFor(
          formatNames.filter(name => name !== this.#format.name),
          outlined,
        ) ?? this.#rewriter()
      )
    if (isFields(outlined) && this.#format.codec?.needsRewriting?.(outlined, traits))
      return this.#rewriter()
    if (media && refusesMedia(this.#format.codec, outlined, media)) return this.#rewriter()
    // Stored files become data; opaque payloads of another provider must not reach this one.
    if (exchange.slots.get(NAMED_FILES)) return this.#rewriter()
    const hasForeign = request.body instanceof Uint8Array && hasForeignPayload(request.body)
    return hasForeign ? this.#rewriter() : this.#passThrough
  }
  /** The plan for a target, for `tollgate explain`. */
  describe(target: Target): Json {
    const formatNames = this.#formatsOf(target)
    const isSameFormat = this.#supportsClientFormat(formatNames)
    return {
      upstream: target.upstream,
      format: isSameFormat
        ? this.#format.name
        : (this.#ordered(target, {}).find(name => this.#translators.has(name)) ?? null),
      bytes: isSameFormat ? "pass untouched except the model's name" : 'are translated',
    }
  }
  #rewriter(): PassThrough | Translator {
    const { name, base = name } = this.#format
    return this.#translators.get(base) ?? this.#passThrough
  }
  #supportsClientFormat(formatNames: readonly string[]): boolean {
    return supportsFormat(formatNames, this.#format.name)
  }
  #isReachable(target: Target): boolean {
    return canReach(this.#format, this.#formatsOf(target), this.#targetFormats)
  }
  /** The translator to the first supported format. For requests with hosted tools: to the first
   *  format that has hosted tools. */
  #translatorFor(formatNames: readonly string[], body?: Json): Translator | undefined {
    const firstName = formatNames.find(name => this.#translators.has(name)) ?? ''
    const first = this.#translators.get(firstName)
    if (!first || first.runsHostedTools || formatNames.length === 1 || !offersHostedTools(body))
      return first
    const translators = formatNames.map(name => this.#translators.get(name))
    return translators.find(each => each?.runsHostedTools) ?? first
  }
  /** OpenAI's own clients keep the order of the upstream. */
  #ordered(target: Target, body: Json | undefined): readonly string[] {
    const formatNames = this.#formatsOf(target)
    if (this.#format.dialect === 'openai') return formatNames
    return translationOrder(formatNames, body, target.traits)
  }
  #formatsOf(target: Target): readonly string[] {
    return supportedFormats(target, this.#upstreams[target.upstream])
  }
}
