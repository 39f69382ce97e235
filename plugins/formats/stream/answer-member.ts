/** Replaces one member in the bytes of an answer, such as the model that it names, and leaves all
 *  other bytes unchanged. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes, Fault, Filter, Json, Out } from '../../../engine/plugin.ts'
import type { AnswerMember } from '../format.ts'
import { FieldExtractor, type Span } from './field-extractor.ts'
import { eventsIn } from './sse.ts'

/** Longest value whose parts may arrive in different chunks, bytes. */
const MAX_VALUE = 512
const BRACE = 0x7b

/** For event streams, in whole events. */
export class StreamMemberFilter implements Filter {
  readonly #facts: AnswerMember
  readonly #key: Bytes
  #value: Bytes
  /** Key and value as the upstream wrote them last: in some formats every event has them. */
  #knownMember: Bytes | undefined
  /** The replacement. */
  #ownMember: Bytes = Buffer.alloc(0)

  constructor(facts: AnswerMember, value: Json) {
    this.#facts = facts
    this.#key = Buffer.from(`"${facts.key}"`)
    this.#value = Buffer.from(JSON.stringify(value))
  }
  /** Changes the value for the events that follow. */
  setValue(value: Json): void {
    this.#value = Buffer.from(JSON.stringify(value))
    this.#knownMember = undefined
  }
  write(chunk: Bytes, out: Out): void {
    out.write(this.#replaceIn(chunk))
  }
  end(tail: Bytes | undefined, out: Out): void {
    out.end(tail && this.#replaceIn(tail))
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #replaceIn(bytes: Bytes): Bytes {
    const members = positionsOf(this.#key, bytes)
    if (members.length === 0) return bytes
    const known = this.#knownMember
    const spans = known && positionsOf(known, bytes)
    if (known && spans?.length === members.length)
      return replace(
        bytes,
        spans.map(start => ({ start, end: start + known.length })),
        this.#ownMember,
      )
    return replace(
      bytes,
      eventsIn(bytes).flatMap(({ start, end }) =>
        this.#memberIn(bytes.subarray(start, end), start),
      ),
      this.#ownMember,
    )
  }
  /** Key and value in one event; `offset`: the position of the event. */
  #memberIn(event: Bytes, offset: number): readonly Span[] {
    const { key, parents } = this.#facts
    const start = event.indexOf(BRACE)
    const value = start < 0 ? undefined : valueSpan(key, event, start, parents)
    if (!value) return []
    const keyStart = asBuffer(event).lastIndexOf(this.#key, value.start)
    this.#knownMember = Buffer.from(event.subarray(keyStart, value.end))
    this.#ownMember = Buffer.concat([event.subarray(keyStart, value.start), this.#value])
    return [{ start: offset + keyStart, end: offset + value.end }]
  }
}

/** For answers that are one JSON object, in any chunks. */
export class PlainMemberFilter implements Filter {
  readonly #extractor: FieldExtractor
  readonly #value: Bytes
  /** Bytes that may have the start of the value, and their position in the answer. */
  #carried: Bytes = Buffer.alloc(0)
  #carriedFrom = 0
  #isDone = false

  constructor({ key }: AnswerMember, value: Json) {
    this.#extractor = new FieldExtractor(Buffer.from(key))
    this.#value = Buffer.from(JSON.stringify(value))
  }
  write(chunk: Bytes, out: Out): void {
    const bytes = this.#replaceIn(chunk)
    if (this.#isDone) return out.write(bytes)
    const ready = Math.max(0, bytes.length - MAX_VALUE)
    if (ready > 0) out.write(bytes.subarray(0, ready))
    this.#carried = bytes.subarray(ready)
    this.#carriedFrom += ready
  }
  end(tail: Bytes | undefined, out: Out): void {
    const bytes = tail ? this.#replaceIn(tail) : this.#carried
    out.end(bytes.length > 0 ? bytes : undefined)
  }
  fail(reason: Fault, out: Out): void {
    out.fail(reason)
  }
  #replaceIn(chunk: Bytes): Bytes {
    if (this.#isDone) return chunk
    this.#extractor.push(chunk, true)
    const bytes = this.#carried.length > 0 ? Buffer.concat([this.#carried, chunk]) : chunk
    const { span } = this.#extractor
    if (!span) return bytes
    this.#isDone = true
    this.#carried = Buffer.alloc(0)
    const [start, end] = [span.start - this.#carriedFrom, span.end - this.#carriedFrom]
    // A value that began before the carried bytes is longer than any name.
    return start < 0 ? bytes : replace(bytes, [{ start, end }], this.#value)
  }
}

/** The value of a member of an object, or of the first of these parents that has it. */
const valueSpan = (
  key: string,
  bytes: Bytes,
  start: number,
  parents: readonly string[],
): Span | undefined => {
  const own = memberSpan(key, bytes, start)
  if (own) return own
  for (const parent of parents) {
    const object = memberSpan(parent, bytes, start)
    const value = object && memberSpan(key, bytes.subarray(0, object.end), object.start)
    if (value) return value
  }
  return undefined
}
const memberSpan = (key: string, bytes: Bytes, start: number): Span | undefined => {
  const extractor = new FieldExtractor(Buffer.from(key))
  extractor.push(bytes.subarray(start), true)
  const { span } = extractor
  return span && { start: start + span.start, end: start + span.end }
}
const positionsOf = (text: Bytes, bytes: Bytes): readonly number[] => {
  const buffer = asBuffer(bytes)
  const positions: number[] = []
  for (let at = buffer.indexOf(text); at >= 0; at = buffer.indexOf(text, at + text.length))
    positions.push(at)
  return positions
}
const replace = (bytes: Bytes, spans: readonly Span[], value: Bytes): Bytes => {
  if (spans.length === 0) return bytes
  const parts: Bytes[] = []
  let position = 0
  for (const { start, end } of spans) {
    parts.push(bytes.subarray(position, start), value)
    position = end
  }
  return Buffer.concat([...parts, bytes.subarray(position)])
}
