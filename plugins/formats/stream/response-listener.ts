/** The listener of a response: filters report to it, and get their errors from it. */
import type { Bytes, Fault } from '../../../engine/plugin.ts'
import type { Meters, Served } from '../../slots.ts'
import type { Fields } from '../fields.ts'
import type { Part } from '../hub/answer.ts'
import type { SseEvent } from './sse.ts'

/** Follows the response of one attempt, whether its bytes pass or are translated. */
export interface ResponseListener {
  /** The facts in the answer about how it was made; again with each new one, before `onUsage`. */
  onServed(served: Served): void
  /** Bytes as the upstream sent them: a stream in whole events, anything else in chunks. `counts`:
   *  the bytes may hold usage counts. */
  onBytes(bytes: Bytes, counts: boolean): void
  /** A decoded part of a translated answer, before it is encoded. */
  readonly onPart?: ((part: Part) => void) | undefined
  /** Called once, at the end. `whole`: the counts are final. */
  onUsage(reported: ReportedCounts, whole: boolean): void
  /** The fault to send in place of an error event, if the client does not get the event itself.
   *  `hasContent`: content came before it. */
  errorIn(event: SseEvent, hasContent: boolean): Fault | undefined
  /** Encodes the event that ends a stream with an error, in the client's format. `last`: the event
   *  before it. */
  encodeFailure(reason: Fault, last: SseEvent | undefined): Bytes
  /** Creates the fault of a stream without its end, or of an answer that cannot be read. */
  faultOf(code: 'UPSTREAM_TRUNCATED' | 'UPSTREAM_UNREADABLE' | 'UPSTREAM_EMPTY'): Fault
  /** The stream ends with an error. `reason`: the error that the gateway sends; absent if the
   *  client got the upstream's own. */
  onBroken(reason?: Fault): void
  /** The answer ends, with an error or not, and had neither content nor a finish reason. */
  onUnanswered(): void
  /** The upstream keeps the connection open after the last event. */
  onLinger(): void
}

/** The usage that the upstream reports. Absent: none. */
export interface ReportedCounts {
  /** Its own counts, unconverted. */
  readonly counts?: Fields | undefined
  /** Meters of the decoded answer. */
  readonly meters?: Meters | undefined
}
