/** One guard: its finders, and what it does with a request and an answer. */
import { errors } from '../../engine/errors.ts'
import { isFields } from '../../engine/kit.ts'
import type { Exchange, HostBase, Slot } from '../../engine/plugin.ts'
import type { Finder } from '../finders/finder.ts'
import { FINDERS, findAll, openFromAll } from '../finders/index.ts'
import { patternFinder } from '../finders/patterns.ts'
import { scan, textsOf } from '../finders/scan.ts'
import { wordsFinder } from '../finders/words.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { PARTS, PROMPT } from '../formats/hub/slots.ts'
import {
  changeMatches,
  mapPromptText,
  replaceMatches,
  type TextFinder,
  type TextMatch,
} from '../formats/hub/text.ts'
import { GUARDED, HIDE_RESTORED, MODEL } from '../slots.ts'
import { Placeholders } from './placeholders.ts'
import type { Guard, Side } from './section.ts'

const fault = errors({
  GUARD_BLOCKED: [
    400,
    'The guard "%s" does not allow this %s.',
    { as: { openai: { code: 'content_filter' } } },
  ],
  GUARD_FAILED: [503, 'The guard "%s" could not decide about this request; try again.'],
  GUARD_OPTION: [500, 'guards.%s.words_file: %s', { expose: true }],
})
type Host = Pick<HostBase, 'config' | 'file' | 'log' | 'request' | 'share'>

type Files = Pick<HostBase, 'file'>
const wordsIn = (name: string, file: string, host: Files): readonly string[] => {
  const lines = readWords(name, file, host).split('\n')
  const words = lines.map(line => line.trim()).filter(line => line !== '')
  if (words.length === 0)
    throw fault('GUARD_OPTION', [name, `${file} has no words; write one on each line`])
  return words
}
const readWords = (name: string, file: string, host: Files): string => {
  try {
    return host.file(file)
  } catch (error) {
    throw fault('GUARD_OPTION', [name, `cannot read ${file}: ${(error as Error).message}`])
  }
}
/** Throws for a pattern or a file of words that cannot be read. `name`: of the guard. */
const findersOf = (name: string, guard: Guard, host: Files): readonly Finder[] => {
  const { find = [], words = [], words_file: file, patterns = {}, longest } = guard
  const all = [...words, ...(file === undefined ? [] : wordsIn(name, file, host))]
  return [
    ...find.map(kind => FINDERS[kind]),
    ...(all.length > 0 ? [wordsFinder(all)] : []),
    ...Object.entries(patterns).map(([label, pattern]) => patternFinder(label, pattern, longest)),
  ]
}

/** The action of a guard on one call. */
const DONE = { block: 'blocked', mask: 'masked', flag: 'flagged', shadow: 'shadow' } as const

export class RouteGuard {
  readonly #name: string
  readonly #guard: Guard
  readonly #host: Host
  readonly #finder: TextFinder | undefined
  /** Its configuration, with its file of words. */
  readonly text: string
  constructor(name: string, guard: Guard, host: Host) {
    this.#name = name
    this.#guard = guard
    this.#host = host
    // Once for all routes: a list of words may be long.
    const { finders, text } = host.share(`guard/${name}`, host.config.hash, () => {
      const { words_file: file } = guard
      const lines = file === undefined ? [] : wordsIn(name, file, host)
      return { finders: findersOf(name, guard, host), text: JSON.stringify([name, guard, lines]) }
    })
    this.text = text
    if (finders.length > 0)
      this.#finder = {
        find: text => findAll(finders, text),
        openFrom: text => openFromAll(finders, text),
      }
  }
  /** Listens to the request and the answer of a call. */
  attach(exchange: Exchange): void {
    const reserved = exchange.slots.get(RESERVED) ?? new Set()
    exchange.slots.set(RESERVED, reserved)
    const placeholders = new Placeholders(reserved)
    if (this.#looksAt('request')) this.#attachRequest(exchange, placeholders)
    const finder = this.#looksAt('answer') ? this.#finder : undefined
    if (finder) this.#attachAnswer(exchange, finder, placeholders)
    if (!this.#guard.restore) return
    const { slots } = exchange
    slots
      .need(PARTS)
      .change(changeMatches(placeholders.finder, text => placeholders.original(text)))
    const hide = (json: string) => placeholders.hide(json)
    slots.set(HIDE_RESTORED, [...(slots.get(HIDE_RESTORED) ?? []), hide])
  }
  #looksAt(side: Side): boolean {
    return this.#guard.on.includes(side)
  }
  #attachRequest(exchange: Exchange, placeholders: Placeholders): void {
    const prompts = exchange.slots.need(PROMPT)
    const inspect = async (prompt: Prompt): Promise<Prompt> => {
      const searched = this.#finder ? await this.#search(exchange, prompt, placeholders) : prompt
      placeholders.freeze()
      return this.#guard.webhook === undefined ? searched : await this.#ask(exchange, searched)
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
  #actOn(exchange: Exchange, side: Side, placeholders: Placeholders) {
    return (text: string, { label = 'TEXT' }: TextMatch): string => {
      // The client's own text may come back to it.
      if (side === 'answer' && this.#guard.restore && placeholders.knows(text)) return text
      this.#note(exchange)
      if (this.#guard.do === 'block') throw this.#refusal(side)
      return this.#guard.do === 'mask' ? placeholders.of(text, label) : text
    }
  }
  #refusal(side: Side) {
    const paid = this.#guard.blocked === 'charge'
    const headers = { 'x-tollgate-guard': `${this.#name}=blocked` }
    return fault('GUARD_BLOCKED', [this.#name, side], { paid: side === 'answer' && paid, headers })
  }
  #note({ slots }: Exchange, did: string = DONE[this.#guard.do]): void {
    const verdicts: Verdicts = slots.get(VERDICTS) ?? new Map()
    const { count = 0 } = verdicts.get(this.#name) ?? {}
    verdicts.set(this.#name, { did, count: count + 1 })
    slots.set(VERDICTS, verdicts)
    slots.set(GUARDED, textOf(verdicts))
  }
  /** The prompt as the webhook leaves it. Throws if it blocks the request. */
  async #ask(exchange: Exchange, prompt: Prompt): Promise<Prompt> {
    const texts = [...textsOf(prompt)]
    const verdict = await this.#request(exchange, texts)
    if (verdict === undefined) {
      if (this.#guard.on_error === 'block') throw fault('GUARD_FAILED', [this.#name])
      return prompt
    }
    if (verdict.action === 'pass') return prompt
    const isObserver = this.#guard.do === 'flag' || this.#guard.do === 'shadow'
    const isRefused = !isObserver && (verdict.action === 'block' || this.#guard.do === 'block')
    this.#note(exchange, isRefused ? DONE.block : DONE[this.#guard.do])
    if (isRefused) throw this.#refusal('request')
    if (isObserver) return prompt
    const replaced = new Map(texts.map((text, index) => [text, verdict.texts[index] ?? text]))
    return mapPromptText(prompt, text => replaced.get(text) ?? text)
  }
  /** The decision of the webhook; undefined if it fails. */
  async #request({ id, slots }: Exchange, texts: readonly string[]) {
    const { webhook = '', timeout } = this.#guard
    const model = slots.get(MODEL)?.asked ?? null
    try {
      const { status, text } = await this.#host.request(webhook, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ guard: this.#name, request: id, model, texts }),
        timeout,
      })
      const reply: unknown = status === 200 ? JSON.parse(text) : undefined
      const action = isFields(reply) ? reply.action : undefined
      if (!isFields(reply) || !['pass', 'block', 'mask'].includes(String(action)))
        throw new Error(`it answered ${status} without an action`)
      const list = Array.isArray(reply.texts) ? reply.texts : []
      if (action === 'mask' && list.length !== texts.length)
        throw new Error('its texts are not as many as those sent')
      return { action: String(action), texts: list.map(String) }
    } catch (error) {
      this.#host.log.warn(
        { guard: this.#name, id },
        `the webhook of a guard failed: ${(error as Error).message}`,
      )
      return undefined
    }
  }
}

type Verdicts = Map<string, { readonly did: string; readonly count: number }>
/** The placeholders of all guards: none has two meanings. */
const RESERVED: Slot<Set<string>> = { name: 'guard placeholders' }
const VERDICTS: Slot<Verdicts> = { name: 'guard verdicts' }

const textOf = (verdicts: Iterable<readonly [string, { did: string; count: number }]>): string =>
  [...verdicts].map(([name, { did, count }]) => `${name}=${did}(${count})`).join(', ')
/** The actions of guards that the client may know: guards with `do: shadow` are left out. */
export const verdictOf = ({ slots }: Pick<Exchange, 'slots'>): string =>
  textOf([...(slots.get(VERDICTS) ?? [])].filter(([, { did }]) => did !== DONE.shadow))
