/** A request of a client that a provider once refused, or that lost something on the way. */
import type { FormatName } from './upstreams.ts'

/** A body or an event of any format. */
// biome-ignore lint/suspicious/noExplicitAny: a check reads members of every format
export type Body = any
/** The requests and responses of a case, at the upstream and at the client. */
export interface Outcome {
  /** The body that the upstream got; undefined if it was not called. */
  readonly up: Body
  /** The same as text. */
  readonly upText: string
  readonly upHeaders: Readonly<Record<string, string | string[] | undefined>>
  readonly status: number
  /** The body that the client got; undefined for a stream, whose events are in `events`. */
  readonly out: Body
  readonly events: readonly Body[]
  /** The header `x-tollgate-dropped`, or ''. */
  readonly dropped: string
}
export interface RequestCase {
  /** The correct behaviour, in words. */
  readonly name: string
  readonly client: FormatName
  /** Of models.yaml. */
  readonly model: string
  readonly stream?: true
  readonly headers?: Readonly<Record<string, string>>
  /** The body; the runner adds `model` and `stream` if the format has them. */
  readonly request: object
  /** The upstream's answer: a body, or the events of a stream; else a short text. */
  readonly answer?: object | readonly object[]
  check(outcome: Outcome): boolean
}
