/** What the gateway must know of a wire format whose bytes pass untouched. A format is one folder that fills this in. */
import type { Bytes, Headers, Json } from '../../engine/plugin.ts'
import type { Meter, Meters, Paid, Usage } from '../slots.ts'
import type { Codec, TargetCodec } from './codec.ts'
import type { Fields } from './fields.ts'
import type { SseEvent } from './sse.ts'
import type { TextPattern } from './written-text.ts'

export interface Format {
  readonly name: string
  /** Whose errors its clients read: a key of plugins/dialects. */
  readonly dialect: 'openai' | 'anthropic' | 'google'
  /** What lists of models call its endpoint. */
  readonly endpoint: string
  /** Where the request names the model: in the body's `model`, or in the path, which `rename` makes fit to be sent. */
  readonly model: 'body' | { rename(path: string, name: string | undefined): string }
  /** Headers its upstreams insist on, where the client sent none. */
  readonly headers?: Headers
  readonly usage: UsageFacts
  readonly stream: StreamFacts
  /** The member of a request that bounds what is written, with this bound. Absent: nothing bounds it. */
  outputLimit?(body: Fields, tokens: number): readonly [key: string, value: Json] | undefined
  /** What its clients call that bound. */
  readonly limitField?: string
  /** Whether a refusal blames the gateway's own key under a status that says something else. */
  blamesKey?(status: number, body: Bytes): boolean
  /** Both directions against the hub. */
  readonly codec?: Codec
}

/** What a target speaks, be there clients that speak it or not. */
export interface TargetFormat extends Pick<Format, 'name' | 'headers' | 'blamesKey'> {
  readonly stream: Pick<StreamFacts, 'error'>
  readonly usage?: UsageFacts
  readonly codec: TargetCodec
}

export interface UsageFacts {
  /** The member of an answer that holds the counts. */
  readonly key: string
  /** The upstream's counts in an event of a stream, as they are written. */
  inEvent(event: Fields): Fields | undefined
  /** The same in our meters. Every upstream counts in its own way: this is the one place that knows it. A part that is
   *  counted inside its whole is never more than that. */
  meters(counts: Fields): Meters
  /** Members of the counts that sum what was read and what was written. Where none can be believed, that is estimated. */
  readonly sums: { readonly read: readonly string[]; readonly written: readonly string[] }
  /** What the model wrote, in a plain answer and in events: estimated where it is not counted. Absent: a `gauge`, or counts
   *  of our own, tell all. */
  readonly text?: { readonly plain: TextPattern; readonly events: TextPattern }
  /** All that `meters` may count: what its models need prices for. */
  readonly counts: readonly Meter[]
  /** Counts what plain answers hold beside what they say of it. */
  tally?(): PlainTally
  /** The counts of a stream's events add up. */
  readonly adds?: true
  /** What its hosted tools did, where the counts leave that out. */
  readonly hosted?: HostedFacts
  /** Of upstreams that often count nothing: what the request and the answer tell of it. One for each answer, of this
   *  content type. */
  gauge?(request: Fields, paid: Paid, type: string): Gauge
}
export interface Gauge {
  /** A piece of the answer as it passes; whole events of a stream. */
  saw(chunk: Bytes): void
  /** `counts`: the upstream's own, if it named any; `whole`: the answer is. */
  usage(counts: Fields | undefined, whole: boolean): Usage
}
interface PlainTally {
  push(chunk: Bytes): void
  readonly counts: Fields
}

/** What was done in one answer so far. */
export interface Tally {
  /** A whole answer, or an event of a stream: what both tell counts once. */
  saw(body: Fields): void
  readonly meters: Meters
}
/** Of a format whose counts leave them out. */
export interface HostedFacts {
  /** One of them stands in every event that tells of a tool. */
  readonly marks: readonly string[]
  begin(traits: { readonly [key: string]: Json }): Tally
}

/** Marks are looked for in bytes. Each begins with a letter that is rare in the format: that is what makes it cheap. */
export interface StreamFacts {
  /** Stands in every event that holds counts. */
  readonly usageMark: string
  /** Each event's counts are the whole so far: only the last need be read. Otherwise they complete one another. */
  readonly cumulative: boolean
  /** One of them stands in the event that ends a stream. */
  readonly endMarks: readonly string[]
  /** Whether this event ends it, as its upstream meant it. */
  ends(event: SseEvent): boolean
  /** What becomes of data behind that event. `dropped`: clients do not read it. `added`: it is another answer, whose counts
   *  are added. `same`: the answer goes on, and later counts include what was counted before. */
  readonly afterEnd: 'dropped' | 'added' | 'same'
  /** Whether an upstream that hangs up behind this event has said all, though its terminator is missing. */
  suffices(event: SseEvent): boolean
  /** The error this event reports, as the body of a refusal, and the status it would have had. */
  error(event: SseEvent): { readonly status: number; readonly body: Fields } | undefined
  /** Where counts come only to who asks for them. */
  readonly asking?: Asking
  /** Ends a stream in an error; `body` is the dialect's, `last` the event before. */
  failure?(body: Fields, last: SseEvent | undefined): Bytes
}

/** How an upstream is asked for counts that its client did not ask for, and which event then is not for the client. */
export interface Asking {
  /** The member that asks, and its value; undefined where the client asks itself, or nothing is streamed. */
  member(body: Fields): readonly [key: string, value: Json] | undefined
  /** Whether this event holds nothing but the counts. */
  only(event: SseEvent): boolean
}

/** The data of an event, if it is an object. */
export const fieldsOf = (event: SseEvent): Fields | undefined => {
  if (event.fields === undefined)
    event.fields = looksLikeObject(event.data) ? parseObject(event.data) : null
  return event.fields ?? undefined
}
const looksLikeObject = (data: string | undefined): data is string =>
  data?.trimStart().startsWith('{') === true
const parseObject = (data: string): Fields | null => {
  try {
    return JSON.parse(data) as Fields
  } catch {
    return null
  }
}
/** An object that cannot be read: what it said is lost. */
export const isMangled = (event: SseEvent): boolean =>
  fieldsOf(event) === undefined && looksLikeObject(event.data)

/** Without the meters that count nothing. */
export const positive = (meters: Meters): Meters => {
  const result: { [meter: string]: number } = {}
  for (const meter in meters) {
    const amount = meters[meter as keyof Meters] ?? 0
    if (amount > 0) result[meter] = amount
  }
  return result
}
