/** Records one call while it runs: the prompt and the answer as guards left them. The line of the
 *  journal is made later, when the call has ended. */
import type { Exchange, Json, Outcome } from '../../engine/plugin.ts'
import { printMoney } from '../billing/money.ts'
import type { Format } from '../formats/format.ts'
import type { Part } from '../formats/hub/answer.ts'
import { Collector } from '../formats/hub/answer-parts.ts'
import type { Codec, EncodeContext } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { ACCOUNT, bareId, CHARGE, GUARDED, HIDE_RESTORED, MODEL, USAGE } from '../slots.ts'
import type { Redaction } from './redaction.ts'

/** A line of the journal. `request` and `answer`: in the format of the client; null: the call had
 *  none, or they are larger than `journal.largest` (`isCut`). */
export interface JournalRecord {
  readonly id: string
  /** ISO 8601, when the call ended. */
  readonly time: string
  readonly route: string
  readonly format: string
  readonly account: number | null
  readonly model: string
  readonly upstream: string | null
  readonly target: string | null
  readonly status: number
  readonly end: string
  readonly error: string | null
  readonly ms: number
  readonly guard: string | null
  readonly usage: Json
  /** Units of the currency. */
  readonly charge: string | null
  readonly request: { readonly path: string; readonly body: Json } | null
  readonly answer: Json
  readonly isCut: boolean
}

export class CallRecord {
  readonly #exchange: Exchange
  readonly #format: Format & { readonly codec: Codec }
  readonly #largest: number
  #prompt: Prompt | undefined
  #collector: Collector | undefined
  #size = 0

  constructor(exchange: Exchange, format: Format & { readonly codec: Codec }, largest: number) {
    this.#exchange = exchange
    this.#format = format
    this.#largest = largest
  }
  /** Characters so far. */
  get size(): number {
    return this.#size
  }
  get account(): number | undefined {
    return this.#exchange.slots.get(ACCOUNT)?.id
  }
  setPrompt(prompt: Prompt): void {
    this.#prompt = prompt
    this.#size = Number(this.#exchange.request.headers['content-length'] ?? 0)
  }
  add(part: Part): void {
    // Another attempt begins anew.
    if (part.type === 'begin') this.#collector = new Collector()
    if (part.type === 'grow') this.#size += part.text.length
    if (this.#size <= this.#largest) this.#collector?.add(part)
    else this.#collector = undefined
  }
  /** The line, without a line feed. */
  async lineOf(outcome: Outcome, redaction: Redaction, end: number): Promise<string> {
    const facts = this.#factsOf(outcome, end)
    const isTooLarge = this.#size > this.#largest
    const texts = isTooLarge ? NO_TEXTS : await this.#texts(redaction)
    const line = JSON.stringify({ ...facts, ...texts, isCut: isTooLarge } satisfies JournalRecord)
    if (line.length <= this.#largest) return line
    return JSON.stringify({ ...facts, ...NO_TEXTS, isCut: true } satisfies JournalRecord)
  }
  #factsOf({ status, end: how, fault, ms, target }: Outcome, end: number) {
    const { id, route, slots } = this.#exchange
    const charge = slots.get(CHARGE)
    return {
      id,
      time: new Date(end).toISOString(),
      route: route.name,
      format: this.#format.name,
      account: slots.get(ACCOUNT)?.id ?? null,
      model: slots.get(MODEL)?.asked ?? '',
      upstream: target?.upstream ?? null,
      target: target?.name ?? null,
      status,
      end: how,
      error: fault?.code ?? null,
      ms: Math.round(ms.whole),
      guard: slots.get(GUARDED) ?? null,
      usage: slots.get(USAGE)?.meters ?? null,
      charge: charge ? printMoney(charge.nanos) : null,
    }
  }
  async #texts(redaction: Redaction): Promise<Pick<JournalRecord, 'request' | 'answer'>> {
    if (!this.#prompt) return NO_TEXTS
    const prompt = await redaction.prompt(withoutPeople(this.#prompt))
    const request = this.#requestOf(prompt)
    const answer = await this.#answerOf(prompt, redaction)
    return this.#hideRestored({
      request: redaction.json(request) as typeof request,
      answer: redaction.json(answer),
    })
  }
  /** With placeholders in the place of texts that guards restored for the client. */
  #hideRestored<T>(value: T): T {
    const hide = this.#exchange.slots.get(HIDE_RESTORED)
    if (!hide) return value
    return JSON.parse(hide.reduce((json, each) => each(json), JSON.stringify(value))) as T
  }
  #requestOf(prompt: Prompt): JournalRecord['request'] {
    const facts = { name: this.#exchange.slots.get(MODEL)?.asked ?? '', traits: {} }
    const { path, body } = this.#format.codec.encodePrompt(prompt, facts, IGNORE)
    return body instanceof Uint8Array ? null : { path, body: body as Json }
  }
  async #answerOf(prompt: Prompt, redaction: Redaction): Promise<Json> {
    if (!this.#collector) return null
    const { slots, request } = this.#exchange
    const context: EncodeContext = {
      id: bareId(this.#exchange),
      model: slots.get(MODEL)?.asked ?? '',
      now: Math.floor(Date.now() / 1_000),
      prompt: { ...prompt, stream: false },
      path: request.path,
    }
    const answer = await redaction.answer(this.#hideRestored(this.#collector.answer()))
    return this.#format.codec.encodeAnswer(answer, context) as Json
  }
}
const NO_TEXTS = { request: null, answer: null }
const IGNORE = { add() {} }

/** The journal has neither ids of end users nor the body as the client sent it. */
const withoutPeople = ({ settings, ...prompt }: Prompt): Prompt => {
  const { user: _user, metadata: _metadata, cacheKey: _key, ...others } = settings
  return { ...prompt, settings: others, body: {} }
}
