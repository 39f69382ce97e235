/** The usage of one attempt's answer: as its upstream counts it, as far as that can be believed, and estimated by the text of
 *  prompt and answer elsewhere. Answers that pass and answers that are translated are counted here alike. */
import type { Attempt, Bytes, Log } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Tally, UsageFacts } from '../formats/format.ts'
import { promptTokens } from '../formats/prompt-tokens.ts'
import { mergedCounts, type ReportedUsage, reportedUsage } from '../formats/reported-usage.ts'
import { type TextPattern, WrittenText } from '../formats/written-text.ts'
import { METERED, type Meters, USAGE, WHOLE, WRITTEN, type Written } from '../slots.ts'

/** Bytes of a plain answer that are kept until it is known whether their text must be read. */
const KEPT = 1024 * 1024

export class AnswerUsage implements Written {
  readonly #attempt: Attempt
  readonly #facts: UsageFacts
  readonly #log: Log
  readonly #tally: Tally | undefined
  /** Absent where nobody pays for what is used. */
  readonly #text: WrittenText | undefined
  /** Of a plain answer: read when they are needed. */
  #unread: Bytes[] | undefined
  #size = 0
  /** Tokens of the text that the upstream's last counts include. */
  #counted = 0
  #counts: Fields | undefined

  constructor(
    attempt: Attempt,
    { facts, streamed }: { readonly facts: UsageFacts; readonly streamed: boolean },
    tally: Tally | undefined,
    log: Log,
  ) {
    this.#attempt = attempt
    this.#facts = facts
    this.#tally = tally
    this.#log = log
    const pattern = this.#pattern(streamed)
    this.#text = pattern && new WrittenText(pattern)
    this.#unread = streamed ? undefined : []
    const { slots } = attempt.exchange
    if (this.#text) slots.set(WRITTEN, this)
    // What another target said before it failed.
    if (slots.get(USAGE)) slots.set(USAGE, { meters: {}, estimated: true })
  }
  #pattern(streamed: boolean): TextPattern | undefined {
    const { text } = this.#facts
    if (!text || !this.#attempt.exchange.slots.get(METERED)) return undefined
    return streamed ? text.events : text.plain
  }
  /** Written so far; no less than an event with text each. */
  get tokens(): number {
    return this.#read()?.tokensOfPart ?? 0
  }
  /** Bytes of the answer as its upstream sent them. `counts`: its own counts may stand in them, of all that came so far. */
  passed(bytes: Bytes, counts: boolean): void {
    if (!this.#text) return
    if (!this.#unread) {
      this.#text.push(bytes)
      if (counts) this.#counted = this.#text.tokens
      return
    }
    this.#unread.push(bytes)
    this.#size += bytes.length
    if (this.#size <= KEPT) return
    this.#read()
    this.#unread = undefined
  }
  /** The counts in an event, where nobody else collects them. Whether there are any. */
  event(fields: Fields): boolean {
    const counts = this.#facts.inEvent(fields)
    if (counts) this.#counts = mergedCounts(this.#counts, counts)
    return counts !== undefined
  }
  /** The same of a plain answer. */
  answer(fields: Fields): void {
    const counts = fields[this.#facts.key]
    if (isFields(counts)) this.#counts = counts
  }
  /** Nothing more comes. `whole`: the answer came to its own end. */
  counted(whole: boolean, counts = this.#counts): void {
    const { id, slots } = this.#attempt.exchange
    const reported = reportedUsage(this.#facts, counts)
    const { invalid, read, written } = reported
    if (invalid.length > 0) this.#warn(id, invalid)
    const told = { ...reported.meters, ...this.#tally?.meters }
    const uncounted = this.#unread ? 0 : (this.#text?.tokens ?? 0) - this.#counted
    const complete = whole && read && written && invalid.length === 0 && uncounted <= 0
    if (complete) return slots.set(USAGE, { meters: told, estimated: false })
    if (!this.#text) {
      const estimated = !whole || !(read || written) || invalid.length > 0
      return slots.set(USAGE, { meters: told, estimated })
    }
    const meters = { ...told, ...this.#estimated(reported, whole, uncounted) }
    // An answer without text has written nothing, whether that is counted or not.
    const estimated = !whole || !read || invalid.length > 0 || meters.output !== told.output
    slots.set(USAGE, { meters, estimated, ...(estimated && { gauged: true as const }) })
  }
  #warn(id: string, invalid: readonly string[]): void {
    const { upstream, name } = this.#attempt.target
    this.#log.warn(
      { id, upstream, target: name, counts: invalid },
      'an upstream reported counts that cannot be; they are estimated',
    )
  }
  /** `uncounted`: tokens of the text behind the last counts. */
  #estimated({ meters, read, written }: ReportedUsage, whole: boolean, uncounted: number): Meters {
    const { input = 0, output = 0, thinking = 0, audio_output = 0 } = meters
    const text = whole ? (this.#read()?.tokens ?? 0) : this.tokens
    const rest = Math.max(output, text - thinking - audio_output)
    return {
      input: read ? input : Math.max(input, this.#prompt() - besideInput(meters)),
      output: whole && written ? output + Math.max(0, uncounted) : rest,
    }
  }
  #prompt(): number {
    const { request, slots } = this.#attempt.exchange
    const whole = slots.get(WHOLE)
    const size = whole?.size ?? Number(request.headers['content-length'] ?? 0)
    return promptTokens(whole?.body ?? request.parsed ?? null, size)
  }
  #read(): WrittenText | undefined {
    for (const bytes of this.#unread?.splice(0) ?? []) this.#text?.push(bytes)
    return this.#text
  }
}

const besideInput = (meters: Meters): number =>
  (meters.cached ?? 0) +
  (meters.cache_write ?? 0) +
  (meters.cache_write_1h ?? 0) +
  (meters.audio_input ?? 0) +
  (meters.image_input ?? 0)
