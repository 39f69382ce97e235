/** Recorders: filters that read the complete response from the bytes of an answer, before its last
 *  byte is sent. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes, Fault, Filter, Out } from '../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../formats/fields.ts'
import type { AnswerMember } from '../formats/format.ts'
import { PlainMemberFilter } from '../formats/stream/answer-member.ts'
import { eventsIn, Splitter } from '../formats/stream/sse.ts'

export const STORE_MEMBER: AnswerMember = { key: 'store', parents: ['response'] }

const UNCHANGED = {
  write: (chunk: Bytes, out: Out): void => out.write(chunk),
  end: (tail: Bytes | undefined, out: Out): void => out.end(tail),
} satisfies Filter

/** Holds a plain answer until it is known whether it is stored, and says so in a member of it. An
 *  answer above the size is not stored and not held. */
export class PlainRecorder implements Filter {
  readonly #largest: number
  readonly #onResponse: (response: Fields) => boolean
  readonly #member: AnswerMember | null
  #parts: Bytes[] = []
  #size = 0
  /** For the rest of an answer that is too large. */
  #rest: PlainMemberFilter | typeof UNCHANGED | undefined
  /** `onResponse` returns whether the response is stored. `member` null: the answer does not say
   *  so. */
  constructor(
    largest: number,
    onResponse: (response: Fields) => boolean,
    member: AnswerMember | null = STORE_MEMBER,
  ) {
    this.#largest = largest
    this.#onResponse = onResponse
    this.#member = member
  }
  write(chunk: Bytes, out: Out): void {
    if (this.#rest) return this.#rest.write(chunk, out)
    this.#parts.push(chunk)
    this.#size += chunk.length
    if (this.#size <= this.#largest) return
    this.#rest = this.#filter(false)
    this.#rest.write(this.#take(), out)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (this.#rest) return this.#rest.end(tail, out)
    if (tail) this.#parts.push(tail)
    const bytes = this.#take()
    const body = parseJson(Buffer.from(bytes).toString())
    this.#filter(isFields(body) && this.#onResponse(body)).end(bytes, out)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #filter(isStored: boolean): PlainMemberFilter | typeof UNCHANGED {
    return this.#member ? new PlainMemberFilter(this.#member, isStored) : UNCHANGED
  }
  #take(): Bytes {
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    return bytes
  }
}

export const FINAL_EVENTS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])
/** Bytes that only events with a complete response contain. */
const RESPONSE_MEMBER = Buffer.from('"response":')

export interface EventListener {
  /** Called with the JSON of each event, before the event is passed on. */
  onEvent(event: Fields): void
  /** Called before the last byte is passed on; not for a stream that ends early. */
  onEnd(): void
}
/** Reads the events of a stream, and passes them on. `mark`: events without these bytes are not
 *  parsed. */
export class EventRecorder implements Filter {
  readonly #listener: EventListener
  readonly #mark: Buffer | undefined
  readonly #splitter = new Splitter()
  constructor(listener: EventListener, mark?: Buffer) {
    this.#listener = listener
    this.#mark = mark
  }
  write(chunk: Bytes, out: Out): void {
    this.#read(this.#splitter.push(chunk))
    out.write(chunk)
  }
  end(tail: Bytes | undefined, out: Out): void {
    if (tail) this.#read(this.#splitter.push(tail))
    this.#read(this.#splitter.take())
    this.#listener.onEnd()
    out.end(tail)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #read(whole: Bytes | undefined): void {
    if (!whole || (this.#mark && !asBuffer(whole).includes(this.#mark))) return
    for (const { data } of eventsIn(whole)) {
      const event = data === undefined ? undefined : parseJson(data)
      if (isFields(event)) this.#listener.onEvent(event)
    }
  }
}
/** Reads the response in the event that ends a stream. Does not parse other events. */
export const streamRecorder = (
  onResponse: (response: Fields) => void,
  onEnd: () => void,
): EventRecorder =>
  new EventRecorder(
    {
      onEvent({ type, response }) {
        if (FINAL_EVENTS.has(String(type)) && isFields(response)) onResponse(response)
      },
      onEnd,
    },
    RESPONSE_MEMBER,
  )
