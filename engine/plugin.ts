/** The contract of plugins, types only. More: store/contract.ts (money, tasks), cli/contract.ts. */
import type { AdminHandlerOf, CommandOf, VerbOf } from './cli/contract.ts'
import type { Bytes, Durable, Headers, Json, Migration, Target, Writes } from './store/contract.ts'

export type * from './cli/contract.ts'
export type * from './store/contract.ts'

/** The default export of `plugins/NAME.ts` or `plugins/NAME/index.ts`: `satisfies Plugin<…>`. */
export interface Plugin<Options = unknown> {
  /** JSON Schema of the options under this plugin's key on a route; checked before `setup`. */
  readonly schema: object
  /** Options on every route that does not name the plugin. Without it they have no such stage. */
  readonly default?: Options
  /** Top-level sections of routes.yaml that this plugin owns: name -> JSON Schema. */
  readonly sections?: Readonly<Record<string, object>>
  /** Keys that this plugin adds to every entry of `upstreams:`, and to `settings:`. */
  readonly upstream?: Readonly<Record<string, object>>
  readonly settings?: Readonly<Record<string, object>>
  /** Request headers with credentials of the client, in lower case: no upstream gets them. */
  readonly credentialHeaders?: readonly string[]
  /** Plugins that this one stands before or after in `pipeline:`, where they are in it. */
  readonly before?: readonly string[]
  readonly after?: readonly string[]
  /** Problems that no schema can see (a name that leads nowhere). Pure; runs behind all schemas. */
  check?(document: Document, report: Report): void
  /** Tables of this plugin, made before any `setup`, and plugins whose tables they refer to. */
  readonly migrations?: readonly Migration[]
  readonly needs?: readonly string[]
  /** Once per route and version. Starts no traffic and no timers: `host` has what replaces them. */
  setup(options: Options, host: Host): Stage | Promise<Stage>
  /** Commands: `tollgate NAME …`; endpoints of the admin listener: `'GET /-/spenders'`. */
  readonly commands?: Readonly<Record<string, Command>>
  readonly admin?: Readonly<Record<string, AdminHandlerOf<HostBase>>>
  /** Runs in one process after the first version serves. Its text is printed under the banner. */
  welcome?(host: HostBase, gateway: { readonly url: string }): Promise<string | undefined>
}
/** What one plugin does on one route. Members that are absent cost nothing. */
export interface Stage {
  /** It replies by itself, or fills `exchange.targets`: its route needs no `upstream:`. */
  readonly answers?: boolean
  readonly targets?: boolean
  /** Once per request. `next()` resolves with the HEAD of the reply; the body flows later. */
  handle?(exchange: Exchange, next: Next): Promise<void>
  /** Once per attempt, inside every `handle`. A retryable Fault moves on to the next target. */
  forward?(attempt: Attempt, next: Next): Promise<void>
  /** Once per WebSocket message: `out` passes it on, 0..n times; a promise pauses its direction. */
  message?(message: Message, out: (m: Message) => void, exchange: Exchange): void | Promise<void>
  /** Renders a fault in the client's dialect, also 404, a failed commit, a broken plugin. Pure. */
  fail?(fault: Fault, exchange: Exchange): Refusal
  /** Whether the client asks for a stream, for `ping:`. The first stage that can tell decides. */
  streams?(request: Request): boolean | Promise<boolean>
  /** What this stage would do, for `tollgate explain`. */
  explain?(exchange: Exchange): Json
}
export type Next = () => Promise<void>
/** routes.yaml, checked and with its variables resolved. */
export type Document = Readonly<Record<string, Json | undefined>>
/** Reports a problem: path of keys, code in CAPITALS, what is wrong, the word probably meant. */
export type Report = (at: KeyPath, code: string, message: string, suggestion?: string) => void
export type KeyPath = readonly (string | number)[]

// Order. A request passes every `handle` in the order of `pipeline:`, then every `forward`
// likewise. The reply returns in reverse: a stage goes on behind `await next()` and adds its filter
// there, so bytes pass the filters of `forward` before those of `handle`, in each ring the last
// stage's first (so do WebSocket messages of the upstream; the client's go down). A `write`, `end`
// or `fail` runs through all filters in one synchronous call. A slot set on the way down is final
// for all stages behind; a slot set in a filter's `end` or `fail` is final for the filters that run
// after it: the codec's `forward` sets USAGE there, the meter's `handle` reads it.

/** Where plugins meet; `name` is the identity. A `keep` slot is JSON and travels with a task. */
export interface Slot<T> {
  readonly name: string
  readonly keep?: boolean
  readonly of?: T
}
export interface Slots {
  get<T>(slot: Slot<T>): T | undefined
  /** As `get`, but throws SLOT_EMPTY if no stage has filled it. */
  need<T>(slot: Slot<T>): T
  set<T>(slot: Slot<T>, value: T): void
  /** Every `keep` slot, for `host.run` in a later turn. */
  saved(): Readonly<Record<string, Json>>
}
/** One request and its reply. */
export interface Exchange {
  readonly id: string
  readonly kind: 'http' | 'websocket' | 'turn'
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: Request
  readonly slots: Slots
  /** Aborts when the client is gone and its `hangup` policy has run out. */
  readonly signal: AbortSignal
  readonly writes: Writes
  /** Where dispatch may send it, best first. */
  targets: readonly Target[]
  /** Present once `next()` resolved or a stage answered; `answered` tells. */
  readonly reply: Reply
  /** Upstreams that were asked so far. */
  readonly attempts: number
  readonly hasReply: boolean
  answer(status: number, body?: Body | Json, headers?: Headers): Reply
  /** Ends the body early: the fault passes every filter, as if the upstream had died. */
  cut(fault: Fault): void
  /** When the client leaves: abort the upstream, or read on within bounds. */
  hangup: 'cancel' | { readonly ms: number; readonly bytes: number }
  /** Runs once, after the last byte or the cut. Must not throw. */
  onEnd(listener: (outcome: Outcome) => void): void
}
export interface Request {
  readonly method: string
  /** Canonical, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly client: { readonly address: string; readonly encrypted: boolean }
  /** The body, parsed once; and the result, once it is there. Changes belong on the Attempt. */
  json(): Promise<Json>
  readonly parsed: Json | undefined
  /** Sets what `json()` and `parsed` give for a body that is no JSON (a form). Its bytes stay. */
  setJson(value: Json): void
  bytes(): Promise<Bytes>
  stream(): AsyncIterable<Bytes>
  /** Reads no more of the body: `stream()` ends, and the reply closes the connection. */
  stop(): void
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
  readonly fault?: Fault
}
export type Body = Bytes | AsyncIterable<Bytes> | undefined
export interface Reply {
  status: number
  headers: Headers
  /** May be replaced; an `async function*` over the old one is a valid new one. */
  body: Body
  /** Adds a filter behind those already there. Costs no promise per chunk. */
  through(filter: Filter): void
  /** Reads the whole body through the filters so far, and makes it the body. */
  bytes(limit: number): Promise<Bytes>
  /** The first bytes, not consumed: a chunk, or as many as `enough` demands. */
  peek(enough?: (seen: Bytes) => boolean): Promise<Bytes | undefined>
}
/** Synchronous. Backpressure is the engine's: it pauses the source, never the filter. */
export interface Filter {
  write?(chunk: Bytes, out: Out): void
  /** `tail` completes the reply. None of it leaves before `exchange.writes` is durable. */
  end?(tail: Bytes | undefined, out: Out): void
  /** The source died or was cut. Encode it and `out.end(event, fault)`, or pass it on. */
  fail?(fault: Fault, out: Out): void
}
export interface Out {
  write(chunk: Bytes): void
  /** `reason`: the fault that the tail tells the client. The reply then counts as cut. */
  end(tail?: Bytes, reason?: Fault): void
  fail(fault: Fault): void
}
/** One try at one target. What it sends may be changed until `next()`. */
export interface Attempt {
  readonly exchange: Exchange
  readonly target: Target
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  readonly reply: Reply
  /** Answers in place of the upstream; `next()` need not be called then. */
  answer(status: number, body?: Body | Json, headers?: Headers): Reply
}
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
  /** Whether the client may read `message`. */
  readonly expose: boolean
  readonly retryable?: boolean | undefined
  readonly headers?: Headers | undefined
  /** The field at fault, as a client would name it. */
  readonly param?: string | undefined
  /** A call that ends in this fault after an upstream has answered it is paid for all the same. */
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
  /** The same as an event of a stream, for when the head is out. */
  readonly event?: Bytes
}
/** What a plugin is offered outside of routes: in commands, admin endpoints, at the first start. */
export interface HostBase extends Durable<Reply, Route> {
  readonly log: Log
  readonly metrics: Metrics
  readonly config: { readonly version: number; readonly hash: string }
  section<T>(name: string): T
  /** The text of a file beside routes.yaml. It is part of the configuration: watched and hashed. */
  file(path: string): string
  /** One object a process and key for all versions; a new `version` takes over from `previous`. */
  share<T extends object>(key: string, version: string, create: (previous: T | undefined) => T): T
}
export type Command = CommandOf<HostBase>
export type Verb = VerbOf<HostBase>
export type Host = HostBase & { readonly route: Route }
type Level = 'debug' | 'info' | 'warn' | 'error'
export type Log = Readonly<Record<Level, (fields: object, text?: string) => void>>
export interface Metrics {
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void
  time(name: string, labels: Readonly<Record<string, string>>, seconds: number): void
  gauge(name: string, labels: Readonly<Record<string, string>>, value: number): void
}
