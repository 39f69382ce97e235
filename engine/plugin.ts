/** The contract of plugins, types only; with the contract.ts of store/, cli/ and egress/. */
import type { AdminHandlerOf, CommandOf, Log, Metrics, SingleCommandOf } from './cli/contract.ts'
import type { AuthHostOf, AuthMethodOf, Sign } from './egress/contract.ts'
import type { Bytes, Durable, Headers, Json, Migration, Target, Writes } from './store/contract.ts'

export type * from './cli/contract.ts'
export type * from './egress/contract.ts'
export type * from './store/contract.ts'

/** The default export of `plugins/NAME.ts` or `plugins/NAME/index.ts`: `satisfies Plugin<…>`. */
export interface Plugin<Options = unknown> {
  /** JSON Schema of the options under this plugin's key on a route; checked before `setup`. */
  readonly schema: object
  /** Options on routes that do not name the plugin. Without a default they have no such stage. */
  readonly default?: Options
  /** Top-level sections of routes.yaml that this plugin owns: name -> JSON Schema. */
  readonly sections?: Readonly<Record<string, object>>
  /** Keys that this plugin adds to every entry of `upstreams:`, and to `settings:`. */
  readonly upstream?: Readonly<Record<string, object>>
  readonly settings?: Readonly<Record<string, object>>
  /** Authenticates at upstreams whose `auth:` names this plugin. */
  readonly auth?: AuthMethodOf<HostBase>
  /** Lower-case names of request headers with client credentials: no upstream gets them. */
  readonly credentialHeaders?: readonly string[]
  /** Plugins that must come after or before this one in `pipeline:`, if they are in it. */
  readonly before?: readonly string[]
  readonly after?: readonly string[]
  /** Reports problems that no schema can express (an unknown name). Pure; runs after validation. */
  check?(document: Document, report: Report): void
  /** Tables of this plugin, created before any `setup`; plugins whose tables they refer to. */
  readonly migrations?: readonly Migration[]
  readonly needs?: readonly string[]
  /** Runs once per route and version. It starts no traffic and no timers; use `host` for these. */
  setup(options: Options, host: Host): Stage | Promise<Stage>
  /** Commands: `tollgate NAME …`; endpoints of the admin listener: `'GET /-/spenders'`. */
  readonly commands?: Readonly<Record<string, Command>>
  readonly admin?: Readonly<Record<string, AdminHandlerOf<HostBase>>>
  /** Runs in one process once the first version is live. Its text is printed below the banner. */
  welcome?(host: HostBase, gateway: { readonly url: string }): Promise<string | undefined>
}
/** What one plugin does on one route. Absent members cost nothing. */
export interface Stage {
  /** It answers, or fills `exchange.targets`: its route then needs no `upstream:`. */
  readonly answers?: boolean
  readonly targets?: boolean
  /** Runs once per request. `next()` resolves at the head of the reply; the body flows later. */
  handle?(exchange: Exchange, next: Next): Promise<void>
  /** Runs once per attempt, inside every `handle`. After a retryable Fault the next one starts. */
  forward?(attempt: Attempt, next: Next): Promise<void>
  /** Runs last, with the final URL, headers and bytes, at each attempt, socket and `host.send`. */
  readonly sign?: Sign
  /** Runs once per WebSocket message. `out` sends a message on; a promise pauses its direction. */
  message?(message: Message, out: (m: Message) => void, exchange: Exchange): void | Promise<void>
  /** Renders a fault in the client's dialect; also 404 and errors of other plugins. Pure. */
  fail?(fault: Fault, exchange: Exchange): Refusal
  /** Whether the client asks for a stream, for `ping:`. The first stage that has it decides. */
  streams?(request: Request): boolean | Promise<boolean>
  /** Describes what this stage would do, for `tollgate explain`. */
  explain?(exchange: Exchange): Json
}
export type Next = () => Promise<void>
/** The content of routes.yaml, checked and with variables expanded. */
export type Document = Readonly<Record<string, Json | undefined>>
/** Reports a problem: path of keys, code in CAPITALS, message, the word probably meant. */
export type Report = (at: KeyPath, code: string, message: string, suggestion?: string) => void
export type KeyPath = readonly (string | number)[]

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
  readonly kind: 'http' | 'websocket' | 'turn'
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: Request
  readonly slots: Slots
  /** Aborts after the client left and the limits of its `hangup` policy are reached. */
  readonly signal: AbortSignal
  readonly writes: Writes
  /** Where the request may be sent, best first. */
  targets: readonly Target[]
  /** Throws unless `hasReply`: until `next()` resolves or a stage answers. */
  readonly reply: Reply
  /** Number of attempts so far. */
  readonly attempts: number
  readonly hasReply: boolean
  answer(status: number, body?: Body | Json, headers?: Headers): Reply
  /** Ends the body early: the fault passes every filter, as if the upstream had failed. */
  cut(fault: Fault): void
  /** When the client leaves: abort the upstream, or continue to read within these limits. */
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
  /** The body, parsed once; `parsed`: its result. Change the body of the Attempt instead. */
  json(): Promise<Json>
  readonly parsed: Json | undefined
  /** Sets the result of `json()` for a body that is not JSON (a form). Its bytes stay the same. */
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
  /** Adds a filter after the existing ones. It costs no promise per chunk. */
  through(filter: Filter): void
  /** Reads the whole body through the filters so far; the result becomes the body. */
  bytes(limit: number): Promise<Bytes>
  /** The first bytes, without consuming them: one chunk, or as many as `enough` accepts. */
  peek(enough?: (bytes: Bytes) => boolean): Promise<Bytes | undefined>
}
/** Synchronous. For backpressure the engine pauses the source, never the filter. */
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
/** One attempt at one target. Its request may be changed until `next()`. */
export interface Attempt {
  readonly exchange: Exchange
  readonly target: Target
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  readonly reply: Reply
  /** Answers instead of the upstream; do not call `next()` then. A WebSocket: 101 and a socket. */
  answer(status: number, body?: Body | Json | Socket, headers?: Headers): Reply
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
/** What the engine offers to plugins in commands, admin endpoints and at the first start. */
export interface HostBase extends Durable<Reply, Route, Exchange> {
  readonly log: Log
  readonly metrics: Metrics
  readonly config: { readonly version: number; readonly hash: string }
  section<T>(name: string): T
  /** The text of a file beside routes.yaml. As part of the configuration it is watched. */
  file(path: string): string
  /** One object per process and key; `create` replaces the object of another `version`. */
  share<T extends object>(key: string, version: string, create: (previous: T | undefined) => T): T
}
export type Command = CommandOf<HostBase>
export type SingleCommand = SingleCommandOf<HostBase>
export type AuthHost = AuthHostOf<HostBase>
export type Host = HostBase & { readonly route: Route }
