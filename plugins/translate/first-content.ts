/** The beginning of a reply until its first content: a target is chosen there, so that an error or
 *  silence before it leads to the next target or key. */
import type { Attempt, Bytes, Fault, Log } from '../../engine/plugin.ts'
import { asRetryable, fault } from '../conversion/faults.ts'
import { reportedFault } from '../conversion/upstream-error.ts'
import { carriesContent, hasText, readFailure } from '../formats/content-facts.ts'
import type { AnswerFacts, ContentFacts, Format, ReportedError } from '../formats/format.ts'
import type { AnswerHold } from '../formats/stream/answer-watch.ts'
import { type EventSplitter, SSE_FRAMING } from '../formats/stream/framing.ts'
import { ARRAY_FRAMING } from '../formats/stream/json-array.ts'
import type { SseEvent } from '../formats/stream/sse.ts'

/** Bytes: a longer beginning is taken as content. */
const BEGINNING_LIMIT = 64 * 1024

interface Beginning {
  /** `bytes`: all that have arrived so far. */
  read(bytes: Bytes): void
  /** At the end of the body. */
  finish(bytes: Bytes): void
  /** Whether an event, a comment or text has arrived. */
  readonly hasEvents: boolean
  /** Whether the target is chosen or has failed. */
  readonly isDecided: boolean
  /** The error that the reply reports in place of content. */
  readonly error: ReportedError | undefined
  /** The reply ended, or said so, without content. */
  readonly hasEnded: boolean
}

/** Reads the events of a stream until one has content, reports an error, or is the end. */
class StreamBeginning implements Beginning {
  readonly #facts: ContentFacts
  readonly #splitter: EventSplitter
  #readBytes = 0
  hasEvents = false
  error: ReportedError | undefined
  isDecided = false
  hasEnded = false

  constructor(facts: ContentFacts) {
    this.#facts = facts
    this.#splitter = (facts.framing ?? SSE_FRAMING).createSplitter()
  }
  read(bytes: Bytes): void {
    if (this.isDecided) return
    const events = this.#splitter.push(bytes.subarray(this.#readBytes))
    this.#readBytes = bytes.length
    if (events) this.#readEvents(events)
    if (bytes.length > BEGINNING_LIMIT) this.isDecided = true
  }
  /** The last event may lack its blank line. */
  finish(bytes: Bytes): void {
    this.read(bytes)
    const rest = this.isDecided ? undefined : this.#splitter.take()
    if (rest) this.#readEvents(rest)
    this.hasEnded ||= !this.isDecided
  }
  #readEvents(bytes: Bytes): void {
    this.hasEvents = true
    for (const event of (this.#facts.framing ?? SSE_FRAMING).eventsIn(bytes)) {
      if (event.data !== undefined) this.#readEvent(event)
      if (this.isDecided) return
    }
  }
  #readEvent(event: SseEvent): void {
    const facts = this.#facts
    const hasContent = carriesContent(facts, event)
    this.error = facts.error(event) ?? (hasContent ? undefined : facts.failedEnd?.(event))
    this.hasEnded = !hasContent && !this.error && facts.isEnd?.(event) === true
    this.isDecided = hasContent || this.error !== undefined || this.hasEnded
  }
}

/** A plain body: it is read whole, unless it is too long for an error. */
class AnswerBeginning implements Beginning {
  readonly #facts: AnswerFacts
  hasEvents = false
  isDecided = false
  error: ReportedError | undefined
  hasEnded = false
  constructor(facts: AnswerFacts) {
    this.#facts = facts
  }
  read(bytes: Bytes): void {
    this.hasEvents ||= hasText(bytes)
    this.isDecided = bytes.length > BEGINNING_LIMIT
  }
  finish(bytes: Bytes): void {
    const result = readFailure(bytes, this.#facts)
    if (result === 'unreadable') this.hasEnded = true
    else this.error = result
  }
}
/** An answer that is not JSON, such as audio: its first bytes are content. */
class BytesBeginning implements Beginning {
  readonly #needsBytes: boolean
  readonly hasEvents = false
  readonly error = undefined
  isDecided = false
  hasEnded = false
  constructor(needsBytes: boolean) {
    this.#needsBytes = needsBytes
  }
  read(bytes: Bytes): void {
    this.isDecided = bytes.length > 0
  }
  finish(bytes: Bytes): void {
    this.hasEnded = this.#needsBytes && bytes.length === 0
  }
}

/** Waits for the first content; if no other target or key is left, for the first event. Returns the
 *  error that the stream reports before it. Throws a retryable fault if the stream is silent,
 *  breaks off or ends without content while another target or key is left. `startedAt`: when the
 *  attempt began (ms, monotonic). */
export const awaitContent = async (
  attempt: Attempt,
  facts: ContentFacts,
  startedAt: number,
): Promise<ReportedError | undefined> => {
  const beginning = new StreamBeginning(facts)
  if (!attempt.isLast) return awaitChoice(attempt, beginning, startedAt)
  const bytes = await attempt.reply.peek(bytes => {
    beginning.read(bytes)
    return beginning.isDecided || beginning.hasEvents
  })
  if (bytes && !beginning.hasEvents) beginning.finish(bytes)
  return beginning.error
}
/** The same for a stream whose events are the elements of a JSON array. */
export const awaitElement = (
  attempt: Attempt,
  facts: ContentFacts,
  startedAt: number,
): Promise<ReportedError | undefined> =>
  awaitContent(attempt, { ...facts, framing: ARRAY_FRAMING }, startedAt)
/** How the plain answer of the last target is kept back until it is known to be no error. */
export const holdOf = (
  log: Log,
  { codec, answers }: Pick<Format, 'codec' | 'answers'>,
  attempt: Attempt,
): AnswerHold | undefined =>
  answers && {
    ms: attempt.deadlines.preamble,
    faultOf: body => {
      const error = readFailure(body, answers)
      if (error === undefined || error === 'unreadable') return undefined
      return reportedFault(log, codec, attempt, error)
    },
  }
/** The same for a plain answer, while another target or key is left. */
export const awaitAnswer = (
  attempt: Attempt,
  facts: AnswerFacts,
  startedAt: number,
): Promise<ReportedError | undefined> => awaitChoice(attempt, new AnswerBeginning(facts), startedAt)

/** The same for an answer that is not JSON. */
export const awaitBytes = (
  attempt: Attempt,
  { answers }: Pick<Format, 'answers'>,
  startedAt: number,
): Promise<ReportedError | undefined> =>
  awaitChoice(attempt, new BytesBeginning(answers?.needsBytes === true), startedAt)

const awaitChoice = async (
  attempt: Attempt,
  beginning: Beginning,
  startedAt: number,
): Promise<ReportedError | undefined> => {
  const wait = new Wait(attempt, startedAt)
  const peeking = attempt.reply.peek(bytes => {
    wait.holdEvents()
    beginning.read(bytes)
    return beginning.isDecided
  })
  let result: Awaited<typeof peeking> | 'silent' | 'chosen'
  try {
    result = await Promise.race([peeking, wait.end])
  } catch (cause) {
    attempt.recordFailure()
    throw asRetryable(cause as Fault)
  } finally {
    wait.stop()
  }
  if (result === 'chosen') return undefined
  if (result === 'silent') throw failed(attempt, silence(attempt))
  if (!beginning.isDecided) beginning.finish(result ?? NO_BYTES)
  if (beginning.hasEnded) throw failed(attempt, fault('UPSTREAM_EMPTY'))
  return beginning.error
}
const NO_BYTES = new Uint8Array()

/** The times that limit how long events are kept back. */
class Wait {
  readonly #resolve: (result: 'silent' | 'chosen') => void
  readonly #preamble: number
  #silenceTimer: NodeJS.Timeout | undefined
  #holdTimer: NodeJS.Timeout | undefined
  readonly end: Promise<'silent' | 'chosen'>

  constructor({ deadlines: { first_content: limit, preamble } }: Attempt, startedAt: number) {
    const { promise, resolve } = Promise.withResolvers<'silent' | 'chosen'>()
    this.end = promise
    this.#resolve = resolve
    this.#preamble = preamble
    if (Number.isFinite(limit)) {
      const rest = Math.max(0, limit - (performance.now() - startedAt))
      this.#silenceTimer = setTimeout(resolve, rest, 'silent')
    }
  }
  /** The first bytes have arrived. */
  holdEvents(): void {
    this.#holdTimer ??= setTimeout(this.#resolve, this.#preamble, 'chosen')
  }
  stop(): void {
    clearTimeout(this.#silenceTimer)
    clearTimeout(this.#holdTimer)
  }
}

const silence = ({ target, deadlines }: Attempt): Fault =>
  fault('UPSTREAM_SILENT', [target.upstream, deadlines.first_content])
const failed = (attempt: Attempt, reason: Fault): Fault => {
  attempt.recordFailure(reason.status)
  return reason
}
