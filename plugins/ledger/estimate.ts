/** What a reply has used so far: for crash checkpoints while it flows, and where nobody counted it. */
import type { Bytes, Exchange, Json } from '../../engine/plugin.ts'
import { BYTES_PER_TOKEN, promptTokens } from '../formats/prompt-tokens.ts'
import { USAGE, type Usage, WRITTEN, type Written } from '../slots.ts'

/** ms between two notes of how far a stream has come. */
const NOTE_EVERY = 250
const LINE_END = 0x0a

interface Noting {
  passed(output: number): void
  note(usage: Usage): void
}
/** What the prompt's tokens are estimated by. */
interface Asked {
  readonly body: Json
  /** Bytes that are no file. */
  readonly size: number
}
export class Watching {
  /** Whether it comes as events. */
  stream = false
  readonly #exchange: Exchange
  readonly #asked: Asked
  readonly #bill: Noting
  #input: number | undefined
  #any = false
  /** Of a format that nobody reads: bytes of a plain answer, blank lines of a stream. */
  #passed = 0
  #notedAt = 0
  #last = 0

  constructor(exchange: Exchange, asked: Asked, bill: Noting) {
    this.#exchange = exchange
    this.#asked = asked
    this.#bill = bill
  }
  /** What is known so far of what was used. */
  get #used(): Usage | undefined {
    return this.#exchange.slots.get(USAGE)
  }
  /** What was written, where its format is read. */
  get #written(): Written | undefined {
    return this.#exchange.slots.get(WRITTEN)
  }
  /** A stream is asked for: its note is there before its first byte is. */
  begin(): void {
    if (this.#notedAt > 0) return
    this.#notedAt = performance.now()
    this.#bill.note(this.#guess(0, 0))
  }
  saw(chunk: Bytes): void {
    const first = !this.#any
    this.#any ||= chunk.length > 0
    const written = this.#written
    if (!written) this.#count(chunk)
    if (this.isFree) return
    if (!this.stream) {
      // Its client has got something: from now on a crash charges what is known of it.
      if (first) this.#bill.passed(0)
      return
    }
    this.#bill.passed(written?.tokens ?? this.#passed)
    const now = performance.now()
    if (now - this.#notedAt < NOTE_EVERY) return
    this.#notedAt = now
    const used = this.#used
    this.#bill.note(used?.gauged ? used : this.#guess())
  }
  /** The bytes that complete the reply. Of a stream that is its terminator, or the word of what broke it. */
  sawLast(tail: Bytes): void {
    this.#any ||= tail.length > 0
    if (!this.stream) this.#count(tail)
  }
  get any(): boolean {
    return this.#any
  }
  /** No upstream was asked, and nobody says what was used: there is nothing to pay for. */
  get isFree(): boolean {
    return this.#exchange.attempts === 0 && !this.#used
  }
  /** The upstream's own numbers; where it was cut before it gave all of them, never less than what has passed. */
  complete(): Usage {
    return this.guessing(0)
  }
  /** The same of a reply of which this many more bytes are known. */
  guessing(more: number): Usage {
    const usage = this.#used
    if (usage && (!usage.estimated || usage.gauged)) return usage
    const guess = this.#guess(more)
    const { input = guess.meters.input, output = 0 } = usage?.meters ?? {}
    const most = Math.max(output, guess.meters.output)
    return { meters: { ...usage?.meters, input, output: most }, estimated: true }
  }
  #guess(more = 0, passed = this.#passed + more) {
    const bytes = this.stream ? passed : Math.ceil(passed / BYTES_PER_TOKEN)
    const output = this.#written?.tokens ?? bytes
    this.#input ??= promptTokens(this.#asked.body, this.#asked.size)
    return { meters: { input: this.#input, output }, estimated: true } satisfies Usage
  }
  #count(chunk: Bytes): void {
    if (this.stream) this.#countEvents(chunk)
    else this.#passed += chunk.length
  }
  /** Ends of lines behind an end of a line, across chunks: upstreams send about one token an event. */
  #countEvents(chunk: Bytes): void {
    for (let at = chunk.indexOf(LINE_END); at >= 0; at = chunk.indexOf(LINE_END, at + 1)) {
      const before = at === 0 ? this.#last : chunk[at - 1]
      const carriage = before === 0x0d && (at === 1 ? this.#last : chunk[at - 2]) === LINE_END
      if (before === LINE_END || carriage) this.#passed++
    }
    this.#last = chunk[chunk.length - 1] ?? this.#last
  }
}
