/** A wire format, as far as the gateway needs it to pass bytes through. Each format is a folder
 *  that implements this type. */
import type { Bytes, Headers, Json } from '../../engine/plugin.ts'
import type { Attributes, Meter, Meters, PricedMeters, Usage } from '../slots.ts'
import { type Fields, parseJson } from './fields.ts'
import type { AutoCache } from './hub/auto-cache.ts'
import type { Codec, TargetCodec, TargetFacts, UpstreamError } from './hub/codec.ts'
import type { NullFacts } from './json/null-members.ts'
import type { ServedFacts } from './served.ts'
import type { Framing } from './stream/framing.ts'
import type { SseEvent } from './stream/sse.ts'
import type { TextPattern } from './stream/text-pattern.ts'

export interface Format {
  readonly name: string
  /** Only clients use it, and an upstream that lists it gets their bytes. The format of the same
   *  provider in which such an upstream is called if bytes cannot pass. */
  readonly base?: string
  /** The shape of errors for its clients: a key of plugins/dialects. */
  readonly dialect: 'openai' | 'anthropic' | 'google'
  /** The endpoint name in model lists. */
  readonly endpoint: string
  /** For the description of its endpoints. */
  readonly about: FormatDescription
  /** The position of the model name in a request: the member `model` of the body, or the path,
   *  which `rename` rewrites for the upstream. */
  readonly model: 'body' | { rename(path: string, name: string | undefined): string }
  /** The member of a body that names the model. Absent: `model`. */
  modelMember?(body: Fields): string
  /** The refusal of a request that only targets of this format can serve. Absent: others can. */
  ownOnly?(body: Fields): Error | undefined
  /** The member of an answer that names the model. Absent: none does. */
  readonly answerModel?: AnswerMember
  /** Headers that its upstreams require and that a client may omit. */
  readonly headers?: Headers
  readonly usage: UsageFacts
  /** How its answers say how they were made. */
  readonly served: ServedFacts
  readonly stream: StreamFacts
  /** How its answers say why they ended. Absent: they do not. */
  readonly finish?: FinishFacts
  /** Which whole answers with a success status are none. Absent: all are answers. */
  readonly answers?: AnswerFacts
  /** The member of a request that limits the output, with this limit. Absent: the format has no
   *  limit. */
  outputLimit?(body: Fields, tokens: number): readonly [key: string, value: Json] | undefined
  /** The members of a request with automatic cache breakpoints; none if the client sets its own.
   *  Absent: the format has none. */
  cachedMembers?(body: Fields, cache: AutoCache): readonly (readonly [key: string, value: Json])[]
  /** The name of that limit for clients. */
  readonly limitField?: string
  /** Whether the path of a request asks for a stream. Absent: the member `stream` of the body
   *  does. */
  streamsByPath?(path: string): boolean
  /** The limits of output tokens in a request, unchecked: a hold covers the largest. */
  limitsIn?(body: Fields): readonly unknown[]
  /** The number of answers that a request asks for, unchecked. */
  answersIn?(body: Fields): unknown
  /** Requests to count tokens. Absent: the format has none. */
  readonly counting?: CountFacts
  /** A first request: the end of its path, and its body. */
  readonly sample?: { readonly path: string; body(model: string): Fields }
  /** Present if its upstreams have error replies of several shapes: those that are not in the
   *  client's dialect are written in it. */
  decodeError?(status: number, body: Json | undefined): UpstreamError
  /** Returns the members of a request to replace for a target of this format: what another
   *  provider's model left in the history and this one refuses. */
  repairHistory?(
    body: Fields,
    target: TargetFacts,
  ): readonly (readonly [key: string, value: Json])[]
  /** Which null members of a request its provider takes; the others are left out. Absent: all
   *  pass. */
  readonly nulls?: NullFacts
  /** Translation to and from the hub. */
  readonly codec?: Codec
}

export interface FormatDescription {
  /** A sentence without a full stop. */
  readonly summary: string
  /** JSON Schemas of responses by media type. `path`: of the route. */
  responses(path: string): Readonly<Record<string, Json>>
}

export interface CountFacts {
  /** JSON Schema of a response. */
  readonly schema: Json
  /** The request whose tokens are counted. */
  countedRequest(body: Fields): Fields
  /** The body with the target's name of the model, where the body contains it. */
  renameModel(body: Fields, model: string): Fields
  encodeCount(tokens: number): Fields
}
export interface FinishMark {
  /** A member in quotes. */
  readonly mark: string
  /** From the mark on: its first group is the reason. */
  readonly value: RegExp
}
/** The place of the reason why an answer ended, in whole answers and events. */
export interface FinishFacts extends FinishMark {
  /** The place of the reason of an answer that has none there. */
  readonly otherwise?: FinishMark
}
/** A member of answers that the gateway may replace. */
export interface AnswerMember {
  /** Of a plain answer and of some events. */
  readonly key: string
  /** Members of events that hold it. */
  readonly parents: readonly string[]
}

/** A format that targets use, whether or not clients use it. */
export interface TargetFormat extends Pick<Format, 'name' | 'headers' | 'answers'> {
  readonly stream: ContentFacts
  readonly usage?: UsageFacts
  readonly served: ServedFacts
  readonly codec: TargetCodec
}

export interface UsageFacts {
  /** The member of an answer that holds the usage counts. */
  readonly key: string
  /** The upstream's counts in a stream event, unconverted. */
  inEvent(event: Fields): Fields | undefined
  /** The counts of a whole answer, if they are not the member `key` itself. */
  inAnswer?(answer: Fields): Fields | undefined
  /** Converts the counts to the gateway's meters, after `ownNames`. A part of a count never exceeds
   *  the whole. */
  meters(counts: Fields): Meters
  /** Renames counts that a compatible upstream spells in its own way. Absent: no upstream is
   *  known that does. */
  ownNames?(counts: Fields): Fields
  /** Members of the counts that sum input and output. An invalid or missing sum is estimated. */
  readonly sums: { readonly input: readonly string[]; readonly output: readonly string[] }
  /** Members that hold text of the model, in whole answers and in events: the basis of an estimate.
   *  Absent: `estimate` or the gateway's own counts cover all usage. */
  readonly text?: { readonly plain: TextPattern; readonly events: TextPattern }
  /** All meters that `meters` may return; models of this format need prices for them. */
  readonly counts: readonly Meter[]
  /** Counts content of whole answers that the usage counts omit. */
  countAnswer?(): AnswerCounter
  /** The counts of a stream's events add up. */
  readonly isAdditive?: true
  /** Counts hosted tool calls that the usage counts omit. */
  readonly hostedTools?: HostedUsageFacts
  /** Estimates the usage from request and answer, for upstreams that often send no counts. Called
   *  once per answer with its content type. */
  estimate?(request: Fields, prices: PricedMeters, type: string): UsageEstimate
}
export interface UsageEstimate {
  /** Receives the answer as it passes, a stream in whole events. */
  observe(chunk: Bytes): void
  /** `counts`: the upstream's own counts, if it sent any; `whole`: the answer is complete. */
  usage(counts: Fields | undefined, whole: boolean): Usage
}
interface AnswerCounter {
  push(chunk: Bytes): void
  readonly counts: Fields
}

/** Counts the hosted tool calls of one answer so far. */
export interface HostedUsage {
  /** Receives a whole answer or a stream event; a call that occurs in several events counts
   *  once. */
  observe(body: Fields): void
  readonly meters: Meters
  /** They are concluded from the text: the upstream's own counts replace them. Absent: they replace
   *  the upstream's. */
  readonly isConcluded?: true
  /** Attributes that the calls report, by their names in prices. */
  readonly attributes?: Attributes | undefined
}
/** Present if the format's usage counts omit hosted tools. */
export interface HostedUsageFacts {
  /** One of these texts occurs in every event about a hosted tool. */
  readonly marks: readonly string[]
  begin(traits: { readonly [key: string]: Json }): HostedUsage
}

/** An error of an upstream: the body of an error reply, and its status. */
export interface ReportedError {
  readonly status: number
  readonly body: Fields
}
/** Tells answers with a success status from errors in their place. */
export interface AnswerFacts {
  /** Texts of which nearly every answer has one: a body with one of them, and without an error, is
   *  not parsed. Without texts only a body with an error is. */
  readonly marks: readonly string[]
  /** The failure of a body that has no content: it reports an error, or lacks what every answer
   *  has. An empty answer with a finish reason is not a failure. */
  failure(body: Fields): ReportedError | undefined
  /** Whether a body that is not JSON, such as audio, is a failure if it has no bytes. */
  readonly needsBytes?: boolean
}
/** The meaning of a stream's events before its first content. */
export type ContentFacts = Pick<
  StreamFacts,
  'error' | 'framing' | 'carriesContent' | 'failedEnd'
> & { readonly isEnd?: StreamFacts['isEnd'] }

/** Marks are searched in bytes. Each begins with a letter that is rare in the format, which makes
 *  the search fast. */
export interface StreamFacts {
  /** Only for targets. Absent: server-sent events. */
  readonly framing?: Framing
  /** A text that occurs in every event with counts. */
  readonly usageMark: string
  /** True if each event's counts include the earlier ones, so that only the last is read. Otherwise
   *  the counts of all events are merged. */
  readonly isCumulative: boolean
  /** One of these texts occurs in the event that ends a stream. */
  readonly endMarks: readonly string[]
  /** Whether this event is the regular end of the stream. */
  isEnd(event: SseEvent): boolean
  /** The meaning of data after that event. `dropped`: clients do not read it. `added`: it is
   *  another answer, whose counts are added. `same`: the answer continues, and later counts include
   *  the earlier ones. */
  readonly afterEnd: 'dropped' | 'added' | 'same'
  /** Whether the stream is complete after this event if the connection closes without a
   *  terminator. */
  completesWithoutTerminator(event: SseEvent): boolean
  /** The error in this event. */
  error(event: SseEvent): ReportedError | undefined
  /** Whether this event has content of the answer, or its finish reason: the target is chosen then.
   *  The start of a message, pings and empty deltas have neither. Absent: every event has. */
  carriesContent?(event: SseEvent): boolean
  /** The failure that the finish reason of this event reports, if no content came before it. */
  failedEnd?(event: SseEvent): ReportedError | undefined
  /** Present if upstreams send counts only on request. */
  readonly usageOption?: UsageOption
  /** Ends a stream with an error; `body`: the error in the client's dialect, `last`: the previous
   *  event. */
  encodeFailure?(body: Fields, last: SseEvent | undefined): Bytes
}

/** How to request counts that the client did not request, and how to recognise the event that must
 *  then be hidden from the client. */
export interface UsageOption {
  /** The member that requests counts, and its value; undefined if the client requests them itself,
   *  or nothing is streamed. */
  memberToAdd(body: Fields): readonly [key: string, value: Json] | undefined
  /** Whether this event holds counts only. */
  isUsageOnly(event: SseEvent): boolean
}

/** The data of an event, if it is an object. */
export const eventFields = (event: SseEvent): Fields | undefined => {
  if (event.fields === undefined)
    event.fields = looksLikeObject(event.data)
      ? ((parseJson(event.data) ?? null) as Fields | null)
      : null
  return event.fields ?? undefined
}
const looksLikeObject = (data: string | undefined): data is string =>
  data?.trimStart().startsWith('{') === true
/** The name of an event, or else the type in its data. */
export const eventType = (event: SseEvent): string => {
  if (event.name !== '') return event.name
  const type = eventFields(event)?.type
  return typeof type === 'string' ? type : ''
}
/** Whether the data begins like an object but cannot be parsed. */
export const isBrokenJson = (event: SseEvent): boolean =>
  eventFields(event) === undefined && looksLikeObject(event.data)

/** Omits meters with the amount 0. */
export const omitZeroMeters = (meters: Meters): Meters => {
  const result: { [meter: string]: number } = {}
  for (const meter in meters) {
    const amount = meters[meter as keyof Meters] ?? 0
    if (amount > 0) result[meter] = amount
  }
  return result
}
