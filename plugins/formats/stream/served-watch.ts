/** Reads what the events of a stream say about how the answer was made: the first event, those with
 *  counts, and the last one with the mark of the format. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import type { Served } from '../../slots.ts'
import { eventFields } from '../format.ts'
import type { ServedFacts } from '../served.ts'
import { eventsIn, eventsWith, type SseEvent } from './sse.ts'

/** How a format says it, with its mark as bytes. */
export interface ServedMarks {
  readonly facts: ServedFacts
  readonly mark: Bytes | undefined
}

export class ServedWatch {
  readonly #marks: ServedMarks
  readonly #onServed: (served: Served) => void
  #hasReadFirst = false
  /** The last bytes with the mark: read at the end, since every event may have it. */
  #unread: Bytes | undefined

  constructor(marks: ServedMarks, onServed: (served: Served) => void) {
    this.#marks = marks
    this.#onServed = onServed
  }
  /** Takes whole events as they pass. */
  observe(bytes: Bytes): void {
    const { mark } = this.#marks
    if (!this.#hasReadFirst) {
      const first = eventsIn(bytes).find(event => eventFields(event) !== undefined)
      this.#hasReadFirst = first !== undefined
      if (first) this.read(first)
    }
    if (mark && hasValue(asBuffer(bytes), mark)) this.#unread = bytes
  }
  read(event: SseEvent): void {
    const fields = eventFields(event)
    if (fields) this.#onServed(this.#marks.facts.read(fields))
  }
  /** Reads what is left. */
  finish(): void {
    const { mark } = this.#marks
    if (this.#unread && mark) for (const event of eventsWith(this.#unread, mark)) this.read(event)
    this.#unread = undefined
  }
}

/** Whether the mark occurs with another value than null. */
const hasValue = (bytes: Buffer, mark: Bytes): boolean => {
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at)) {
    at += mark.length
    if (!NULL.test(bytes.toString('latin1', at, at + NULL_LENGTH))) return true
  }
  return false
}
const NULL = /^\s*:\s*null/
const NULL_LENGTH = 8
