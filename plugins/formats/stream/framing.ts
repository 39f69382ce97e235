/** How the events of a stream are framed in bytes: a fact of each format. */
import type { Bytes, Reply } from '../../../engine/plugin.ts'
import { eventsIn, isEventStream, Splitter, type SseEvent } from './sse.ts'

export interface Framing {
  /** Whether a reply is a stream with this framing. */
  isStream(reply: Pick<Reply, 'headers'>): boolean
  createSplitter(): EventSplitter
  /** The events in a piece of a stream that a splitter returned. */
  eventsIn(bytes: Bytes): readonly SseEvent[]
}
/** Cuts a stream into pieces of whole events, for any chunk boundaries. */
export interface EventSplitter {
  /** Returns the events completed by this chunk, as one piece. */
  push(chunk: Bytes): Bytes | undefined
  /** At the end of the stream: returns the rest, if it can be read as an event. */
  take(): Bytes | undefined
}

/** Server-sent events. */
export const SSE_FRAMING: Framing = {
  isStream: isEventStream,
  createSplitter: () => new Splitter(),
  eventsIn,
}
