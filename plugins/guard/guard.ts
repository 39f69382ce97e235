/** One guard: its finders and its decider, and what it does with a request and an answer. */
import type { Exchange, Fault, Filter, HostBase, Slot } from '../../engine/plugin.ts'
import { scan, textsOf } from '../finders/scan.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { PARTS, PROMPT } from '../formats/hub/slots.ts'
import {
  changeMatches,
  mapPromptText,
  replaceMatches,
  type TextFinder,
  type TextMatch,
} from '../formats/hub/text.ts'
import { BLOCKED, HIDE_RESTORED } from '../slots.ts'
import { AnswerTexts, DecidedAnswer } from './decided-answer.ts'
import { type Decider, type Decision, UnreadableTexts } from './decider.ts'
import { deciderOf } from './deciders.ts'
import { fault } from './faults.ts'
import { guardFinderOf } from './guard-finder.ts'
import { Placeholders } from './placeholders.ts'
import { RealtimeSession } from './realtime-session.ts'
import { decidesOn, findsIn, type Guard, type Side } from './section.ts'
import { addVerdict, VERDICT_WORDS } from './verdicts.ts'

type Refusal = 'GUARD_BLOCKED' | 'GUARD_TOO_LARGE'

export class RouteGuard {
  readonly #name: string
  readonly #guard: Guard
  readonly #host: HostBase
  readonly #finder: TextFinder | undefined
  readonly #decider: Decider | undefined
  /** Its configuration, with its file of words. */
  readonly text: string
  constructor(name: string, guard: Guard, host: HostBase) {
    this.#name = name
    this.#guard = guard
    this.#host = host
    this.#decider = deciderOf(name, guard, host)
    const { finder, text } = guardFinderOf(name, guard, host)
    this.#finder = finder
    this.text = text
  }
  /** Whether an answer that it blocks may cost less than the upstream counted. */
  get mayChargeLess(): boolean {
    if (this.#guard.do !== 'block' || this.#guard.blocked === 'charge') return false
    const finds = this.#finder !== undefined && findsIn(this.#guard, 'answer')
    return finds || (this.#decider !== undefined && decidesOn(this.#guard, 'answer'))
  }
  /** Listens to the request and the answer of a call. Returns a filter for the answer that only a
   *  webhook or a model needs. */
  attach(exchange: Exchange): (() => Filter) | undefined {
    const { slots } = exchange
    const placeholders = placeholdersFor(exchange)
    this.#attachRequest(exchange, placeholders)
    if (this.#finder && findsIn(this.#guard, 'answer'))
      this.#attachAnswer(exchange, this.#finder, placeholders)
    const filter = this.#attachDecider(exchange)
    if (!this.#guard.restore) return filter
    slots
      .need(PARTS)
      .change(changeMatches(placeholders.finder, text => placeholders.original(text)))
    const hide = (json: string) => placeholders.hide(json)
    slots.set(HIDE_RESTORED, [...(slots.get(HIDE_RESTORED) ?? []), hide])
    return filter
  }
  /** Listens to a realtime session. */
  openSession(exchange: Exchange): RealtimeSession {
    const placeholders = placeholdersFor(exchange)
    // Later events of a response repeat its texts: each text counts once.
    const counted = new Set<string>()
    const isNew = (text: string): boolean => counted.size < counted.add(text).size
    const acts = {
      request: this.#actOn(exchange, 'request', placeholders, isNew),
      answer: this.#actOn(exchange, 'answer', placeholders, isNew),
    }
    const { restore, do: action } = this.#guard
    return new RealtimeSession({
      finderOf: side => (findsIn(this.#guard, side) ? this.#finder : undefined),
      changes: action === 'mask' || action === 'block',
      placeholders: restore ? placeholders : undefined,
      act: side => acts[side],
      decide: async texts =>
        decidesOn(this.#guard, 'request') ? this.#replacement(exchange, texts) : undefined,
      unreadable: () => fault('GUARD_UNREADABLE', [this.#name]),
    })
  }
  #attachRequest(exchange: Exchange, placeholders: Placeholders): void {
    const finds = this.#finder !== undefined && findsIn(this.#guard, 'request')
    const decides = this.#decider !== undefined && decidesOn(this.#guard, 'request')
    if (!finds && !decides) return
    const prompts = exchange.slots.need(PROMPT)
    const inspect = async (prompt: Prompt): Promise<Prompt> => {
      const searched = finds ? await this.#search(exchange, prompt, placeholders) : prompt
      placeholders.freeze()
      return decides ? await this.#decide(exchange, searched) : searched
    }
    if (this.#guard.do === 'mask') prompts.change(inspect)
    else prompts.watch(async prompt => void (await inspect(prompt)))
  }
  async #search(exchange: Exchange, prompt: Prompt, placeholders: Placeholders): Promise<Prompt> {
    const texts = textsOf(prompt)
    const matches = await scan(texts, this.#finder as TextFinder)
    if (matches.size === 0) return prompt
    if (this.#guard.restore) placeholders.reserve(texts)
    const known = { find: (text: string) => matches.get(text) ?? [] }
    const act = this.#actOn(exchange, 'request', placeholders)
    return mapPromptText(prompt, text => replaceMatches(text, known, act))
  }
  #attachAnswer(exchange: Exchange, finder: TextFinder, placeholders: Placeholders): void {
    const parts = exchange.slots.need(PARTS)
    const step = changeMatches(finder, this.#actOn(exchange, 'answer', placeholders))
    if (this.#guard.do === 'mask' || this.#guard.do === 'block') parts.change(step)
    else parts.watch(part => step(part, () => {}))
  }
  /** Notes a match; returns what is in its place, or throws. */
  #actOn(
    exchange: Exchange,
    side: Side,
    placeholders: Placeholders,
    counts: (text: string) => boolean = () => true,
  ) {
    return (text: string, { label = 'TEXT' }: TextMatch): string => {
      // The client's own text may come back to it.
      if (side === 'answer' && this.#guard.restore && placeholders.knows(text)) return text
      if (counts(text)) addVerdict(exchange, this.#name, VERDICT_WORDS[this.#guard.do])
      if (this.#guard.do === 'block') throw this.#refusal(exchange, side)
      return this.#guard.do === 'mask' ? placeholders.of(text, label) : text
    }
  }
  #refusal({ slots }: Exchange, side: Side, code: Refusal = 'GUARD_BLOCKED'): Fault {
    const { blocked } = this.#guard
    if (side === 'answer') slots.set(BLOCKED, blocked)
    const paid = side === 'answer' && blocked !== 'free'
    const headers = { 'x-tollgate-guard': `${this.#name}=blocked` }
    return fault(code, [this.#name, side], { paid, headers })
  }
  /** The prompt as the decider leaves it. Throws if it blocks the request. */
  async #decide(exchange: Exchange, prompt: Prompt): Promise<Prompt> {
    const replace = await this.#replacement(exchange, textsOf(prompt))
    return replace ? mapPromptText(prompt, replace) : prompt
  }
  /** By what the decider replaces texts of a request; undefined: they stay. Throws if it blocks the
   *  request. */
  async #replacement(
    exchange: Exchange,
    texts: ReadonlySet<string>,
  ): Promise<((text: string) => string) | undefined> {
    const list = [...texts]
    const decision = await this.#ask(exchange, 'request', list)
    if (decision?.action !== 'mask' || this.#guard.do !== 'mask') return undefined
    const replaced = new Map(list.map((text, index) => [text, decision.texts[index] ?? text]))
    return text => replaced.get(text) ?? text
  }
  #attachDecider(exchange: Exchange): (() => Filter) | undefined {
    if (!this.#decider || !decidesOn(this.#guard, 'answer')) return undefined
    const texts = new AnswerTexts()
    exchange.slots.need(PARTS).watch(part => texts.add(part))
    return () =>
      new DecidedAnswer({
        holdsAll: this.#guard.do === 'block',
        decide: async () => void (await this.#ask(exchange, 'answer', texts.list)),
        tooLarge: () => this.#tooLarge(exchange, 'answer'),
      })
  }
  /** The decision, of which the verdict is noted. Undefined: there is none. Throws if the guard
   *  refuses the request or the answer. */
  async #ask(
    exchange: Exchange,
    side: Side,
    texts: readonly string[],
  ): Promise<Decision | undefined> {
    if (!this.#decider || texts.length === 0) return undefined
    let decision: Decision
    try {
      this.#checkSize(texts)
      decision = await this.#decider.decide({ exchange, side, texts })
    } catch (error) {
      const { kind } = this.#decider
      const text = `the ${kind} of a guard failed: ${(error as Error).message}`
      this.#host.log.warn({ guard: this.#name, id: exchange.id }, text)
      if (error instanceof UnreadableTexts && !this.#isObserver)
        throw this.#tooLarge(exchange, side)
      this.#onFailure(side)
      return undefined
    }
    const { action, labels } = decision
    if (action === 'pass') return decision
    const isRefused = !this.#isObserver && (action === 'block' || this.#guard.do === 'block')
    const names = labels.map(label => `${this.#name}/${label}`)
    for (const name of names.length > 0 ? names : [this.#name])
      addVerdict(exchange, name, isRefused ? VERDICT_WORDS.block : VERDICT_WORDS[this.#guard.do])
    if (isRefused) throw this.#refusal(exchange, side)
    return decision
  }
  /** Whether it only reports. */
  get #isObserver(): boolean {
    return this.#guard.do === 'flag' || this.#guard.do === 'shadow'
  }
  #checkSize(texts: readonly string[]): void {
    const size = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    const { max_bytes: limit } = this.#guard
    if (size > limit) throw new UnreadableTexts(`${size} bytes of text are above max_bytes`)
  }
  /** Refuses texts that the decider cannot read: else padding would pass a guard. */
  #tooLarge(exchange: Exchange, side: Side): Fault {
    addVerdict(exchange, this.#name, VERDICT_WORDS.block)
    return this.#refusal(exchange, side, 'GUARD_TOO_LARGE')
  }
  /** Of a failed decider. Throws GUARD_FAILED if the guard has `on_error: block`. */
  #onFailure(side: Side): void {
    if (this.#guard.on_error === 'block') throw fault('GUARD_FAILED', [this.#name, side])
  }
}

/** The placeholders of all guards: none has two meanings. */
const RESERVED: Slot<Set<string>> = { name: 'guard placeholders' }
const placeholdersFor = ({ slots }: Exchange): Placeholders => {
  const reserved = slots.get(RESERVED) ?? new Set()
  slots.set(RESERVED, reserved)
  return new Placeholders(reserved)
}
