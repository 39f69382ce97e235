/** What a reply has used, as far as its bytes tell: for a death in the middle, and for upstreams that count nothing. */
import type { Bytes } from '../../engine/plugin.ts'
import type { Usage } from '../slots.ts'

/** Text of this many bytes is about one token. */
const BYTES_PER_TOKEN = 4
/** ms between two notes of how far a stream has come. */
const NOTE_EVERY = 250
const LINE_END = 0x0a

interface Noting {
  passed(output: number): void
  note(usage: Usage): void
}
export class Watching {
  /** Whether it comes as events. */
  stream = false
  readonly #input: number
  readonly #bill: Noting
  readonly #told: () => Usage | undefined
  /** Bytes of a plain answer, blank lines of a stream: upstreams send about one token an event. */
  #passed = 0
  #notedAt = 0
  #last = 0

  /** `size`: bytes of text in the request. `told`: what is known so far of what was used. */
  constructor(size: number, bill: Noting, told: () => Usage | undefined = () => undefined) {
    this.#input = Math.ceil(size / BYTES_PER_TOKEN)
    this.#bill = bill
    this.#told = told
  }
  /** A stream is asked for: its note is there before its first byte is. */
  begin(): void {
    if (this.#notedAt > 0) return
    this.#notedAt = performance.now()
    this.#bill.note(this.#guess(0, 0))
  }
  saw(chunk: Bytes): void {
    if (!this.stream) {
      // Its client has got something: from now on a crash charges what is known of it.
      if (this.#passed === 0) this.#bill.passed(0)
      this.#passed += chunk.length
      return
    }
    this.#countEvents(chunk)
    this.#bill.passed(this.#passed)
    const now = performance.now()
    if (now - this.#notedAt < NOTE_EVERY) return
    this.#notedAt = now
    const told = this.#told()
    this.#bill.note(told?.gauged ? told : this.#guess())
  }
  /** The bytes that complete the reply. Of a stream that is its terminator, or the word of what broke it. */
  sawLast(tail: Bytes): void {
    if (!this.stream) this.#passed += tail.length
  }
  get any(): boolean {
    return this.#passed > 0
  }
  /** The upstream's own numbers; where it was cut before it gave all of them, never less than what has passed. */
  complete(usage: Usage | undefined): Usage {
    return this.guessing(0, usage)
  }
  /** The same of a reply of which this many more bytes are known. */
  guessing(more: number, usage: Usage | undefined): Usage {
    if (usage && (!usage.estimated || usage.gauged)) return usage
    const guess = this.#guess(more)
    const { input = guess.meters.input, output = 0 } = usage?.meters ?? {}
    const most = Math.max(output, guess.meters.output)
    return { meters: { ...usage?.meters, input, output: most }, estimated: true }
  }
  #guess(more = 0, passed = this.#passed + more) {
    const output = this.stream ? passed : Math.ceil(passed / BYTES_PER_TOKEN)
    return { meters: { input: this.#input, output }, estimated: true } satisfies Usage
  }
  /** Ends of lines behind an end of a line, across chunks. */
  #countEvents(chunk: Bytes): void {
    for (let at = chunk.indexOf(LINE_END); at >= 0; at = chunk.indexOf(LINE_END, at + 1)) {
      const before = at === 0 ? this.#last : chunk[at - 1]
      const carriage = before === 0x0d && (at === 1 ? this.#last : chunk[at - 2]) === LINE_END
      if (before === LINE_END || carriage) this.#passed++
    }
    this.#last = chunk[chunk.length - 1] ?? this.#last
  }
}
