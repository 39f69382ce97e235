/** Usage of one attempt's answer. Takes the upstream's counts if they are plausible, and estimates
 *  the rest from the text of prompt and answer. Serves passed-through and translated answers
 *  alike. */
import type { Attempt, Bytes, Log } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../../formats/fields.ts'
import type { HostedUsage, UsageFacts } from '../../formats/format.ts'
import { estimatePromptTokens } from '../../formats/prompt-tokens.ts'
import { OutputTextEstimator } from '../../formats/stream/output-text.ts'
import { type ReportedUsage, readReportedUsage } from '../../formats/stream/reported-usage.ts'
import type { ReportedCounts } from '../../formats/stream/response-listener.ts'
import type { TextPattern } from '../../formats/stream/text-pattern.ts'
import { completionTokensOf, promptTokensOf } from '../../formats/token-meters.ts'
import {
  EXPANDED_REQUEST,
  METERED,
  type Meters,
  OUTPUT_SO_FAR,
  type OutputSoFar,
  USAGE,
} from '../../slots.ts'
import { type ResponseUsage, withHostedCalls } from './response-usage.ts'
import { addServed } from './served-slot.ts'

/** Bytes of a plain answer that are buffered before their text is read: most answers report counts,
 *  and then their text need not be read. */
const BUFFER_LIMIT = 1024 * 1024

export class AnswerUsage implements OutputSoFar, ResponseUsage {
  readonly #attempt: Attempt
  readonly #facts: UsageFacts
  readonly #log: Log
  readonly #hostedUsage: HostedUsage | undefined
  /** Absent for exchanges that are not metered. */
  readonly #outputText: OutputTextEstimator | undefined
  /** Bytes of a plain answer whose text has not been read yet. */
  #unreadChunks: Bytes[] | undefined
  #unreadBytes = 0
  /** Estimated tokens of the text that the upstream's latest counts include. */
  #countedTokens = 0

  constructor(
    attempt: Attempt,
    { facts, isStream }: { readonly facts: UsageFacts; readonly isStream: boolean },
    hostedUsage: HostedUsage | undefined,
    log: Log,
  ) {
    this.#attempt = attempt
    this.#facts = facts
    this.#hostedUsage = hostedUsage
    this.#log = log
    const pattern = this.#patternFor(isStream)
    this.#outputText = pattern && new OutputTextEstimator(pattern)
    this.#unreadChunks = isStream ? undefined : []
    const { slots } = attempt.exchange
    if (this.#outputText) slots.set(OUTPUT_SO_FAR, this)
    // An earlier target of this exchange may have left usage before it failed.
    if (slots.get(USAGE)) slots.set(USAGE, { meters: {}, estimated: true })
  }
  #patternFor(isStream: boolean): TextPattern | undefined {
    const { text } = this.#facts
    if (!text || !this.#attempt.exchange.slots.get(METERED)) return undefined
    return isStream ? text.events : text.plain
  }
  /** Output tokens so far, estimated: at least one for each event with text. */
  get tokens(): number {
    return this.#readText()?.truncatedTokens ?? 0
  }
  addBytes(bytes: Bytes, counts: boolean): void {
    if (!this.#outputText) return
    if (!this.#unreadChunks) {
      this.#outputText.push(bytes)
      if (counts) this.#countedTokens = this.#outputText.tokens
      return
    }
    this.#unreadChunks.push(bytes)
    this.#unreadBytes += bytes.length
    if (this.#unreadBytes <= BUFFER_LIMIT) return
    this.#readText()
    this.#unreadChunks = undefined
  }
  finish(whole: boolean, { counts }: ReportedCounts): void {
    const { id, slots } = this.#attempt.exchange
    const upstreamUsage = readReportedUsage(this.#facts, counts ?? this.#countsElsewhere(whole))
    const { invalidNames, isInputReported, isOutputReported } = upstreamUsage
    if (invalidNames.length > 0) this.#warnOfCounts(id, invalidNames)
    const reportedMeters = withHostedCalls(upstreamUsage.meters, this.#hostedUsage)
    const attributes = this.#hostedUsage?.attributes
    if (attributes) addServed(this.#attempt.exchange, { attributes })
    const uncountedTokens = this.#unreadChunks
      ? 0
      : (this.#outputText?.tokens ?? 0) - this.#countedTokens
    const complete =
      whole &&
      isInputReported &&
      isOutputReported &&
      invalidNames.length === 0 &&
      uncountedTokens <= 0
    if (complete) return slots.set(USAGE, { meters: reportedMeters, estimated: false })
    if (!this.#outputText) {
      const isEstimate = !whole || !(isInputReported || isOutputReported) || invalidNames.length > 0
      return slots.set(USAGE, { meters: reportedMeters, estimated: isEstimate })
    }
    const meters = {
      ...reportedMeters,
      ...this.#estimateMeters(upstreamUsage, whole, uncountedTokens),
    }
    // An answer without text has no output tokens, whether the upstream counts them or not.
    const isEstimate =
      !whole ||
      !isInputReported ||
      invalidNames.length > 0 ||
      meters.output !== reportedMeters.output
    slots.set(USAGE, {
      meters,
      estimated: isEstimate,
      ...(isEstimate && { isFinalEstimate: true as const }),
    })
  }
  /** The counts of a buffered plain answer that are not in its usual member. */
  #countsElsewhere(whole: boolean): Fields | undefined {
    const { inAnswer } = this.#facts
    if (!whole || !inAnswer || !this.#unreadChunks?.length) return undefined
    const answer = parseJson(Buffer.concat(this.#unreadChunks).toString())
    return isFields(answer) ? inAnswer(answer) : undefined
  }
  #warnOfCounts(id: string, invalidNames: readonly string[]): void {
    const { upstream, name } = this.#attempt.target
    this.#log.warn(
      { id, upstream, target: name, counts: invalidNames },
      'upstream reported implausible token counts; estimating them instead',
    )
  }
  /** `uncounted`: estimated tokens of the text after the upstream's latest counts. */
  #estimateMeters(
    { meters, isInputReported, isOutputReported }: ReportedUsage,
    whole: boolean,
    uncountedTokens: number,
  ): Meters {
    const { input = 0, output = 0 } = meters
    const text = whole ? (this.#readText()?.tokens ?? 0) : this.tokens
    const outputTokens = Math.max(output, text - (completionTokensOf(meters) - output))
    return {
      input: isInputReported
        ? input
        : Math.max(input, this.#estimatePromptTokens() - (promptTokensOf(meters) - input)),
      output: whole && isOutputReported ? output + Math.max(0, uncountedTokens) : outputTokens,
    }
  }
  #estimatePromptTokens(): number {
    const { request, slots } = this.#attempt.exchange
    const whole = slots.get(EXPANDED_REQUEST)
    const size = whole?.size ?? Number(request.headers['content-length'] ?? 0)
    return estimatePromptTokens(whole?.body ?? request.outlined ?? null, size)
  }
  #readText(): OutputTextEstimator | undefined {
    for (const bytes of this.#unreadChunks?.splice(0) ?? []) this.#outputText?.push(bytes)
    return this.#outputText
  }
}
