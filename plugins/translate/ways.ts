/** One route's ways to its targets: which of the formats a target speaks a request is sent in. */
import { amountIn, SIZES } from '../../engine/kit.ts'
import type { Attempt, Exchange, Host, Json, Target } from '../../engine/plugin.ts'
import { fault } from '../conversion/faults.ts'
import { isFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import { reachable, reaches } from '../formats/reach.ts'
import { holdsSeal } from '../formats/seal.ts'
import { speaks, spokenBy } from '../formats/spoken.ts'
import { offersHosted } from '../formats/tally.ts'
import { MODEL, WHOLE } from '../slots.ts'
import { type Coded, Crossing, isCoded } from './crossing.ts'
import { Identity } from './identity.ts'
import { Memory } from './memory.ts'
import { thinksByName } from './thinking.ts'

export class Ways {
  readonly #format: Format
  readonly #identity: Identity
  /** By the name of the target's format. */
  readonly #crossings = new Map<string, Crossing>()
  readonly #upstreams: Host['upstreams']

  constructor(format: Format, strict: boolean, host: Host) {
    const { log, upstreams } = host
    const fetches = new Map(
      Object.entries(upstreams).map(([name, { options }]) => [name, listOf(options.fetch)]),
    )
    const uploads = new Map(
      Object.entries(upstreams).flatMap(([name, { options, inside }]) =>
        typeof options.upload === 'string' && inside === undefined
          ? [[name, amountIn(options.upload, SIZES)] as const]
          : [],
      ),
    )
    const memory = host.share<Memory>('thoughts', '1', previous => previous ?? new Memory())
    const ground = { log, host, memory, strict, fetches, uploads }
    this.#format = format
    this.#identity = new Identity(format, log)
    for (const target of isCoded(format) ? reachable(format.codec) : [])
      this.#crossings.set(target.name, new Crossing(format as Coded, target, ground))
    this.#upstreams = upstreams
  }
  /** Leaves out targets that no way leads to. */
  judge(exchange: Exchange): void {
    const { targets } = exchange
    if (targets.every(target => this.#reaches(target))) return
    exchange.targets = targets.filter(target => this.#reaches(target))
    if (exchange.targets.length === 0)
      throw fault('MODEL_NOT_HERE', [exchange.slots.get(MODEL)?.asked ?? ''])
  }
  of({ target, exchange, request }: Attempt): Identity | Crossing {
    const spoken = this.#formatsOf(target)
    const { parsed } = exchange.request
    if (!this.#isSame(spoken)) return this.#crossing(spoken, parsed) ?? this.#identity
    if (thinksByName(target.traits) || exchange.slots.get(WHOLE)?.longer) return this.#own()
    if (isFields(parsed) && this.#format.codec?.needsReading?.(parsed, target.traits ?? {}))
      return (
        this.#crossing(
          spoken.filter(name => name !== this.#format.name),
          parsed,
        ) ?? this.#own()
      )
    // What another provider sealed must not reach this one.
    const sealed = request.body instanceof Uint8Array && holdsSeal(request.body)
    return sealed ? this.#own() : this.#identity
  }
  /** For `tollgate explain`. */
  said(target: Target): Json {
    const spoken = this.#formatsOf(target)
    const same = this.#isSame(spoken)
    return {
      upstream: target.upstream,
      format: same ? this.#format.name : (spoken.find(name => this.#crossings.has(name)) ?? null),
      bytes: same ? 'pass untouched but for the name of the model' : 'are translated',
    }
  }
  #own(): Identity | Crossing {
    return this.#crossings.get(this.#format.name) ?? this.#identity
  }
  #isSame(spoken: readonly string[]): boolean {
    return speaks(spoken, this.#format.name)
  }
  #reaches(target: Target): boolean {
    return reaches(this.#format, this.#formatsOf(target))
  }
  /** The first of them; of a request for tools that the target runs, the first that knows such tools. */
  #crossing(spoken: readonly string[], body?: Json): Crossing | undefined {
    const [first, ...others] = spoken.flatMap(name => this.#crossings.get(name) ?? [])
    if (!first || first.runsTools || others.length === 0 || !offersHosted(body)) return first
    return others.find(({ runsTools }) => runsTools) ?? first
  }
  #formatsOf(target: Target): readonly string[] {
    return spokenBy(target, this.#upstreams[target.upstream])
  }
}

const listOf = (given: Json | undefined): readonly string[] =>
  Array.isArray(given) ? given.map(String) : []
