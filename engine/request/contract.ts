/** The part of the contract about one request and its reply: the exchange, its attempts, filters,
 *  slots and faults. Types only. */
import type { Bytes, Headers, Json, Target, UpstreamView, Writes } from '../store/contract.ts'

// Order. A request passes every `handle` in the order of `pipeline:`, then every `forward`. The
// reply passes in reverse: a stage continues after `await next()` and adds its filter there. So
// bytes pass the filters of `forward` before those of `handle`, in each ring the last stage's
// first. WebSocket messages of the upstream take this order, those of the client the opposite. A
// slot set before `next()` is final for all later stages; in a filter's end, for later filters.

/** A named value that plugins exchange. A `keep` slot is JSON and is stored with a task. */
export interface Slot<T> {
  readonly name: string
  readonly keep?: boolean
  readonly of?: T
}
export interface Slots {
  get<T>(slot: Slot<T>): T | undefined
  /** The same as `get`, but throws SLOT_EMPTY if no stage has set it. */
  need<T>(slot: Slot<T>): T
  set<T>(slot: Slot<T>, value: T): void
  /** The values of all `keep` slots, for `host.run` in a later turn. */
  toJson(): Readonly<Record<string, Json>>
}
/** One request and its reply. */
export interface Exchange {
  readonly id: string
  /** W3C trace id, 32 hexadecimal digits: the client's, or a new one. Attempts send it on. */
  readonly trace: string
  readonly kind: 'http' | 'websocket' | 'turn'
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: Request
  readonly slots: Slots
  /** Aborts after the client left and the limits of its `hangup` policy are reached. */
  readonly signal: AbortSignal
  readonly writes: Writes
  /** Where the request may be sent, best first. A stage may replace the list before `next()`. */
  targets: readonly Target[]
  /** A rule for every target of this exchange, present and later ones: returns those that it
   *  permits, or throws. The same list needs the same result: its balance is kept. */
  restrict(rule: (targets: readonly Target[]) => readonly Target[]): void
  /** Whether the rules so far permit this target. */
  permits(target: Target): boolean
  /** Throws unless `hasReply`: until `next()` resolves or a stage answers. */
  readonly reply: Reply
  /** Number of attempts so far. */
  readonly attempts: number
  readonly progress: Progress
  /** When the head of the request arrived: a time of `performance.now()`. */
  readonly startedAt: number
  readonly hasReply: boolean
  answer(status: number, body?: Body | Json | Socket, headers?: Headers): Reply
  /** Ends the body early: the fault passes every filter, as if the upstream had failed. */
  cut(fault: Fault): void
  /** When the client leaves: abort the upstream, or continue to read within these limits. */
  hangup: 'cancel' | { readonly ms: number; readonly bytes: number }
  /** Runs once, after the last byte or the cut; the listener of the last stage first, as the reply
   *  passes. Must not throw. */
  onEnd(listener: (outcome: Outcome) => void): void
}
export interface Progress {
  /** Of the last attempt so far; `key`: the name of its key, which does not show it. */
  readonly target: Target | undefined
  readonly key: string | undefined
  /** The upstream of that target. */
  readonly upstream: UpstreamView | undefined
  /** Targets that could not be picked when another one was. */
  readonly skipped: readonly SkippedTarget[] | undefined
}
export interface SkippedTarget {
  readonly upstream: string
  readonly target: string | undefined
  readonly address: string | undefined
  /** `ejected`, `paused` or `probing`: its address. `resting` or `limited`: all of its keys.
   *  `cold`: it is warmed up. */
  readonly why: string
}
export interface Request {
  readonly method: string
  /** Canonical, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly client: { readonly address: string; readonly encrypted: boolean }
  /** The body, parsed once; `parsed`: its result. Change the body of the Attempt instead. */
  json(): Promise<Json>
  readonly parsed: Json | undefined
  /** As `json()`, at a part of the cost where texts are long: those of more than 96 bytes may be
   *  cut to 48 characters or more, with a mark behind them that has their bytes (see `cutSize`).
   *  Whole are the outermost object's own texts and those of its objects, and addresses up to 4,096
   *  characters. Later requests share it: never change it. `outlined`: also after `json()`. */
  outline(): Promise<Json>
  readonly outlined: Json | undefined
  /** The body for a stage that writes its texts into another JSON without reading them. Undefined:
   *  use `json()`, as `outline()` cut nothing. */
  cut(): CutBody | undefined
  /** Sets the result of `json()` for a body that is not JSON (a form). Its bytes stay the same. */
  setJson(value: Json): void
  /** Says who calls: the outlines of a caller's later bodies share the parts that are equal. */
  setCaller?(name: string): void
  bytes(): Promise<Bytes>
  stream(): AsyncIterable<Bytes>
  /** Reads no more of the body: `stream()` ends, and the reply closes the connection. */
  stop(): void
}
/** A body in which long texts of members `text`, `content` and `description` are references. */
export interface CutBody {
  /** The outline; whole are the texts of all other members, and those of tools' arguments. */
  readonly json: Json
  /** JSON with the texts in place of their references. Undefined unless each is there once, and
   *  none in JSON within a text: then a text was read, and only the whole one shows the result. */
  restore(json: string): Bytes | undefined
}
export interface Route {
  readonly name: string
  /** An HTTP method, or `WS`. */
  readonly method: string
  readonly pattern: string
  has(plugin: string): boolean
  /** The options of a plugin on this route, or its default. */
  option(plugin: string): Json | undefined
}
export interface Outcome {
  readonly end: 'complete' | 'cut' | 'hangup' | 'refused'
  readonly status: number
  readonly attempts: number
  readonly bytes: number
  /** That of the last attempt: it answered, unless every attempt failed. */
  readonly target?: Target
  readonly ms: Timings
  readonly fault?: Fault
}
/** All in ms. */
export interface Timings {
  /** From the head of the request to the end of the reply. */
  readonly whole: number
  /** From the head of the request to the first byte of the reply's body that was sent. */
  readonly first?: number
  /** The part of `whole` spent waiting for the heads of upstreams, over all attempts. */
  readonly waited: number
}
export type Body = Bytes | AsyncIterable<Bytes> | undefined
export interface Reply {
  status: number
  headers: Headers
  /** May be replaced; an `async function*` over the old one is a valid new one. */
  body: Body
  /** Adds a filter after the existing ones. It costs no promise per chunk. */
  through(filter: Filter): void
  /** Reads the whole body through the filters so far; the result becomes the body. */
  bytes(limit: number): Promise<Bytes>
  /** The first bytes, without consuming them: one chunk, or as many as `enough` accepts. */
  peek(enough?: (bytes: Bytes) => boolean): Promise<Bytes | undefined>
}
/** Synchronous. For backpressure the engine pauses the source, never the filter. A filter that
 *  has not passed the end on after `timeouts.stage` fails the reply (FILTER_STUCK). */
export interface Filter {
  write?(chunk: Bytes, out: Out): void
  /** `tail` completes the reply. It is not sent before `exchange.writes` is durable. */
  end?(tail: Bytes | undefined, out: Out): void
  /** The source failed or was cut. Encode the fault (`out.end(event, fault)`) or pass it on. */
  fail?(fault: Fault, out: Out): void
}
export interface Out {
  write(chunk: Bytes): void
  /** `reason`: the fault that `tail` reports to the client. The reply then counts as cut. */
  end(tail?: Bytes, reason?: Fault): void
  fail(fault: Fault): void
}
/** One attempt at one target. Its request may be changed until `next()`; its body is not kept. */
export interface Attempt {
  readonly exchange: Exchange
  readonly target: Target
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  readonly reply: Reply
  /** Whether no other target or key can be asked after it. */
  readonly isLast: boolean
  /** ms: until the first content, and for how long earlier events may be kept back. */
  readonly deadlines: { readonly first_content: number; readonly preamble: number }
  /** The reply is not an answer. For the health of address and key: the status of the error that
   *  its body reports; undefined where a fault is recorded already. */
  recordFailure(status?: number, headers?: Headers): void
  /** Answers instead of the upstream; do not call `next()` then. A WebSocket: 101 and a socket. */
  answer(status: number, body?: Body | Json | Socket, headers?: Headers): Reply
}
/** Limits the requests of each key that has one of its members. */
export interface KeyMethodOf<Host> {
  /** JSON Schemas of the members that it adds to an entry of `key:`, by name. */
  readonly members: Readonly<Record<string, object>>
  /** Runs once per key and version. `host.key`: the name of the key, which does not show it. */
  setup(
    members: Readonly<Record<string, Json | undefined>>,
    host: Host & { readonly upstream: string; readonly key: string },
  ): KeyLimiter
}
export interface KeyLimiter {
  /** Takes what an attempt needs, or refuses it. Runs for each key that the attempt tries. */
  admit(attempt: Attempt): KeyRefusal | undefined | Promise<KeyRefusal | undefined>
  /** Called with all headers of each response. */
  onHead(target: Target, headers: Headers): void
}
export interface KeyRefusal {
  /** ms until the attempt may be admitted. */
  readonly ms: number
  /** Whether every attempt at the target would be refused. */
  readonly isForAll: boolean
}
/** A `WebSocket` of the package `ws`, open and paused. */
export type Socket = { readonly readyState: number; terminate(): void }
export interface Message {
  readonly from: 'client' | 'upstream'
  readonly text: boolean
  readonly payload: Bytes
}
/** A fault at run time: any Error with these members; `engine/errors.ts` makes them from tables. */
export interface Fault {
  readonly code: string
  readonly message: string
  readonly status: number
  readonly expose: boolean // whether the client may read `message`
  readonly retryable?: boolean | undefined
  readonly refusesKey?: boolean | undefined // the upstream refused the gateway's key, which rests
  readonly headers?: Headers | undefined
  /** The invalid field of the request, as the client names it. */
  readonly param?: string | undefined
  /** Whether a call that ends in this fault is charged if an upstream had answered it. */
  readonly paid?: boolean | undefined
  /** By dialect, what it says in place of its own row: `{ envelope: { code: 'x' } }`. */
  readonly as?: ErrorRows | undefined
  readonly cause?: unknown
}
export type ErrorRows = Readonly<Record<string, { readonly [field: string]: Json }>>
export interface Refusal {
  readonly status: number
  readonly headers: Headers
  readonly body: Bytes
  /** The same as an event of a stream, used if the head was sent already. */
  readonly event?: Bytes
}
