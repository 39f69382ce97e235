/** Estimates the usage of a response: for crash checkpoints while it streams, and at its end where
 *  the upstream reports no counts. */
import type { Bytes, Exchange, Json } from '../../engine/plugin.ts'
import { BYTES_PER_TOKEN, estimatePromptTokens } from '../formats/prompt-tokens.ts'
import { PROMPT_METERS } from '../formats/token-meters.ts'
import {
  BLOCKED,
  CACHED,
  CONTENT_PASSED,
  type Meters,
  OUTPUT_SO_FAR,
  type OutputSoFar,
  UNANSWERED,
  USAGE,
  type Usage,
} from '../slots.ts'

/** ms between two checkpoints of a stream. */
const CHECKPOINT_INTERVAL = 250
const LINE_END = 0x0a

interface CheckpointTarget {
  onContent(): void
  reportProgress(output: number): void
  checkpoint(usage: Usage): void
}
/** The prompt, for an estimate of its tokens. */
interface PromptSize {
  /** Or its outline, whose texts have their sizes. */
  readonly body: Json
  /** Bytes, without those of files. */
  readonly size: number
}
export class UsageEstimator {
  /** Whether the response is an event stream. */
  isStream = false
  readonly #exchange: Exchange
  /** Until its tokens are estimated: a stream may stay open for long. */
  #prompt: PromptSize | undefined
  readonly #call: CheckpointTarget
  #input = 0
  #hasOutput = false
  /** Whether the client has content that guards let pass, and not only the head of a stream. */
  #hasContent = false
  /** Where no format reads the response: bytes of a plain body; events of a stream, each of which
   *  ends in a blank line. */
  #units = 0
  #checkpointedAt = 0
  /** The last two bytes before this chunk. */
  #lastBytes: readonly [secondLast: number, last: number] = [0, 0]

  constructor(exchange: Exchange, prompt: PromptSize, call: CheckpointTarget) {
    this.#exchange = exchange
    this.#prompt = prompt
    this.#call = call
  }
  /** The usage that the upstream reported so far, or that of an answer from the cache. */
  get #usage(): Usage | undefined {
    return this.#cachedUsage ?? this.#exchange.slots.get(USAGE)
  }
  /** Output tokens so far, where a format reads the response. */
  get #outputSoFar(): OutputSoFar | undefined {
    return this.#exchange.slots.get(OUTPUT_SO_FAR)
  }
  /** Stores a checkpoint before the first byte, for a request that asks for a stream. */
  startCheckpoints(): void {
    if (this.#checkpointedAt > 0) return
    this.#checkpointedAt = performance.now()
    this.#call.checkpoint(this.#usageOf(0))
  }
  /** It does not grow with what is delivered: no upstream was asked. */
  get #cachedUsage(): Usage | undefined {
    return this.#exchange.slots.get(CACHED)?.usage
  }
  observe(chunk: Bytes): void {
    const first = !this.#hasOutput
    this.#hasOutput ||= chunk.length > 0
    this.#hasContent ||= chunk.length > 0 && this.#exchange.slots.get(CONTENT_PASSED) === true
    const outputSoFar = this.#outputSoFar
    if (!outputSoFar) this.#count(chunk)
    if (this.isFree) return
    if (!this.isStream || this.#cachedUsage) {
      if (!first) return
      this.#call.onContent()
      // The client has received bytes: from now on a crash charges the usage of the checkpoint.
      return this.#call.reportProgress(0)
    }
    this.#call.reportProgress(outputSoFar?.tokens ?? this.#units)
    const now = performance.now()
    if (this.#checkpointedAt > 0 && now - this.#checkpointedAt < CHECKPOINT_INTERVAL) return
    this.#checkpointedAt = now
    const usage = this.#usage
    this.#call.checkpoint(usage?.isFinalEstimate ? usage : this.#usageOf(this.#units))
  }
  /** The last bytes of the response. In a stream they are its terminator, or its error message. */
  observeTail(tail: Bytes): void {
    this.#hasOutput ||= tail.length > 0
    if (!this.isStream) this.#count(tail)
  }
  /** Whether a response that fails is charged: the client has a part of it, or a guard blocked it,
   *  which says what is charged. */
  get isOwed(): boolean {
    return this.#hasOutput || this.#exchange.slots.get(BLOCKED) !== undefined
  }
  /** The charge of an answer that a guard withheld whole. One of which the client has a part is
   *  charged like any answer that breaks off: else a text that ends in a forbidden word is free. */
  get #blocked(): 'charge' | 'input' | 'free' | undefined {
    return this.#hasContent ? undefined : this.#exchange.slots.get(BLOCKED)
  }
  /** Whether the call is free: no upstream was called and no usage is known, none answered, or a
   *  guard withheld the answer and charges nothing. */
  get isFree(): boolean {
    const { attempts, slots } = this.#exchange
    if (slots.get(UNANSWERED) === true || this.#blocked === 'free') return true
    return attempts === 0 && !this.#usage
  }
  /** The upstream's own counts. Where the stream was cut before they were complete: at least the
   *  delivered output. */
  finalUsage(): Usage {
    return this.estimate(0)
  }
  /** The usage while so many bytes of the response were not passed to `observe` yet. */
  estimate(unobservedBytes: number): Usage {
    const whole = this.#wholeUsage(unobservedBytes)
    return this.#blocked === 'input' ? promptOf(whole) : whole
  }
  #wholeUsage(unobservedBytes: number): Usage {
    const usage = this.#usage
    if (usage && (!usage.estimated || usage.isFinalEstimate)) return usage
    const { meters } = this.#usageOf(this.#units + unobservedBytes)
    const { input = meters.input, output = 0 } = usage?.meters ?? {}
    return {
      meters: { ...usage?.meters, input, output: Math.max(output, meters.output) },
      estimated: true,
    }
  }
  #usageOf(units: number) {
    const countedTokens = this.isStream ? units : Math.ceil(units / BYTES_PER_TOKEN)
    const output = this.#outputSoFar?.tokens ?? countedTokens
    if (this.#prompt) {
      this.#input = estimatePromptTokens(this.#prompt.body, this.#prompt.size)
      this.#prompt = undefined
    }
    return { meters: { input: this.#input, output }, estimated: true } satisfies Usage
  }
  #count(chunk: Bytes): void {
    if (this.isStream) this.#countEvents(chunk)
    else this.#units += chunk.length
  }
  /** Counts blank lines across chunks: upstreams send about one token an event. */
  #countEvents(chunk: Bytes): void {
    for (let at = chunk.indexOf(LINE_END); at >= 0; at = chunk.indexOf(LINE_END, at + 1)) {
      const before = this.#byteAt(chunk, at - 1)
      const isCrlf = before === 0x0d && this.#byteAt(chunk, at - 2) === LINE_END
      if (before === LINE_END || isCrlf) this.#units++
    }
    const { length } = chunk
    this.#lastBytes = [this.#byteAt(chunk, length - 2), this.#byteAt(chunk, length - 1)]
  }
  #byteAt(chunk: Bytes, index: number): number {
    return chunk[index] ?? this.#lastBytes[index === -1 ? 1 : 0]
  }
}

/** The part of a usage that is the prompt. */
const promptOf = ({ meters, parts, ...usage }: Usage): Usage => ({
  ...usage,
  meters: promptMetersOf(meters),
  ...(parts && { parts: parts.map(part => ({ ...part, meters: promptMetersOf(part.meters) })) }),
})
const promptMetersOf = (meters: Meters): Meters =>
  Object.fromEntries(PROMPT_METERS.flatMap(name => (meters[name] ? [[name, meters[name]]] : [])))
