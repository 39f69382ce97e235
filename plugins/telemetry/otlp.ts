/** Spans, histograms and sums that OTLP 1.x reports, whatever their encoding. */
import type { Bytes } from '../../engine/plugin.ts'

export type Value = string | number | boolean | readonly string[]
/** Names need no escapes in JSON. Values that are undefined are left out. */
export type Attributes = Readonly<Record<string, Value | undefined>>

export interface Span {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly state: string | undefined
  readonly name: string
  readonly kind: 'server' | 'client'
  /** ms since 1970, with fractions. */
  readonly start: number
  readonly end: number
  readonly attributes: readonly Attributes[]
  /** The error's description. */
  readonly error: string | undefined
}
/** A histogram has `bounds` and counts in `buckets`, one more than bounds; a sum has neither. */
export interface Metric {
  readonly name: string
  readonly unit: string
  readonly bounds?: readonly number[]
  /** `cumulative`: since the start of the process; `delta`: since the report before. */
  readonly temporality: Temporality
  /** Times in ms since 1970. */
  readonly start: number
  readonly end: number
  readonly points: readonly Point[]
}
export interface Point {
  readonly attributes: Attributes
  readonly sum: number
  readonly count: number
  readonly buckets: readonly number[]
}
export type Temporality = 'cumulative' | 'delta'

/** `resource`: attributes of the service that sends. */
export interface Encoder {
  readonly contentType: string
  /** A span of a body of `/v1/traces`. Valid until the next one. */
  span(span: Span): Bytes
  /** Between two spans. */
  readonly separator: Bytes
  /** A body of `/v1/traces` without its spans, which have `length` bytes. */
  frame(resource: Attributes, length: number): { readonly head: Bytes; readonly tail: Bytes }
  /** A body of `/v1/metrics`. */
  metrics(resource: Attributes, metrics: readonly Metric[]): string | Bytes
  /** The number of spans that a receiver rejected, in its response with status 200. */
  rejectedIn(response: { readonly text: string; readonly bytes: Bytes }): number
}

/** Numbers of the protocol. */
export const SPAN_KINDS = { server: 2, client: 3 }
export const ERROR_STATUS = 2
export const TEMPORALITIES: Readonly<Record<Temporality, number>> = { delta: 1, cumulative: 2 }
export const SCOPE = 'tollgate'
/** Characters of a text. */
export const LONGEST_TEXT = 1_024
