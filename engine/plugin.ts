/** THE CONTRACT between the engine and its plugins. Types only; imports nothing. */

export type Bytes = Uint8Array
export type Headers = Record<string, string | string[]>
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

// ---------------------------------------------------------------- plugin and stage

/** What a file in the plugin folder exports by default, best written `satisfies Plugin<Options>`. */
export interface Plugin<Options = unknown> {
  /** JSON Schema of the options under this plugin's key on a route; checked before `setup`. */
  readonly schema: object
  /** Options on every route that does not name the plugin. Without it such a route has no such stage. */
  readonly default?: Options
  /** Top-level sections of routes.yaml this plugin owns: name -> JSON Schema. */
  readonly sections?: Readonly<Record<string, object>>
  /** Keys this plugin adds to every entry of `upstreams:`; read them at `host.upstreams`. */
  readonly upstream?: Readonly<Record<string, object>>
  /** Keys this plugin adds to `settings:`; read them at `host.section('settings')`. */
  readonly settings?: Readonly<Record<string, object>>
  /** Faults no schema can see (a name that points nowhere). Pure; runs once all schemas have passed. */
  check?(document: Document, report: Report): void
  /** Tables this plugin owns: numbered, forward only, run before the first `setup` sees them. */
  readonly migrations?: readonly Migration[]
  /** Plugins on whose tables its own stand: theirs are made before, and they must be there. */
  readonly needs?: readonly string[]
  /** Once per route per load. Synchronous in effect: no traffic, no timers; ask `host` for those. */
  setup(options: Options, host: Host): Stage | Promise<Stage>
  /** Verbs for the command line: `tollgate NAME …`. */
  readonly commands?: Readonly<Record<string, Command>>
  /** After the first snapshot serves, in one process. What it returns is printed once under the banner. */
  welcome?(host: Lent, gateway: { readonly url: string }): Promise<string | undefined>
}

/** What one plugin does on one route. Absent members cost nothing. */
export interface Stage {
  /** It replies without an upstream, so its route needs none. */
  readonly answers?: boolean
  /** It fills `exchange.targets`, so its route needs no `upstream:`. */
  readonly targets?: boolean
  /** Once per request. `next()` resolves when the reply's HEAD is known; its body has not begun to flow. */
  handle?(exchange: Exchange, next: Next): Promise<void>
  /** Once per attempt at one target. `next()` resolves at that target's head. Throw a retryable Fault to try the next. */
  forward?(attempt: Attempt, next: Next): Promise<void>
  /** Once per WebSocket message. Pass it on with `out` (0..n times); a returned promise pauses this direction only. */
  message?(
    message: Message,
    out: (message: Message) => void,
    exchange: Exchange,
  ): void | Promise<void>
  /** Renders a fault in the client's dialect: also 404/405, a failed commit, a plugin that threw, drain. Pure. */
  fail?(fault: Fault, exchange: Exchange): Refusal
  /** What this stage would do, for `tollgate explain`. */
  explain?(exchange: Exchange): Json
}
export type Next = () => Promise<void>

/** routes.yaml, checked and with its variables resolved. Plugins' sections stand beside the engine's. */
export interface Document {
  readonly [section: string]: Json | undefined
}
/** A problem at a place in the document: the path of keys, a code in CAPITALS, a message that teaches. */
export type Report = (
  where: readonly (string | number)[],
  code: string,
  message: string,
  suggestion?: string,
) => void

// ---------------------------------------------------------------- slots

/** Where plugins meet. `name` is the identity (bundles are apart). A `keep` slot is JSON and travels with a durable task. */
export interface Slot<T> {
  readonly name: string
  readonly keep?: boolean
  readonly of?: T
}
export interface Slots {
  get<T>(slot: Slot<T>): T | undefined
  /** As `get`, but a fault naming slot and route when nobody filled it. */
  need<T>(slot: Slot<T>): T
  set<T>(slot: Slot<T>, value: T): void
  /** Every `keep` slot, to be handed to `host.run` in a later turn. */
  saved(): { readonly [name: string]: Json }
}

// ---------------------------------------------------------------- exchange

/** One request and its reply. */
export interface Exchange {
  readonly id: string
  readonly kind: 'http' | 'websocket' | 'turn'
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly request: Request
  readonly slots: Slots
  /** Aborts when the client is gone and its `hangup` policy has run out. Made on first use. */
  readonly signal: AbortSignal
  /** What must become durable with this exchange. See Writes. */
  readonly writes: Writes
  /** Where dispatch may send it, best first. Filled by a stage (or by the route's `upstream:`). */
  targets: readonly Target[]
  /** Present once `next()` resolved or someone answered. */
  readonly reply: Reply
  /** Whether there is a reply yet. A stage that neither answers nor awaits `next()` leaves this false. */
  readonly answered: boolean
  answer(status: number, body?: Body | Json, headers?: Headers): Reply
  /** Ends the body early. The fault enters at the SOURCE and passes every filter, like a dead upstream. */
  cut(fault: Fault): void
  /** What a leaving client means: abort the upstream, or read on within bounds. */
  hangup: 'cancel' | { readonly ms: number; readonly bytes: number }
  /** After the last byte or the cut, once, whatever happened. Must not throw. */
  onEnd(listener: (outcome: Outcome) => void): void
}
export interface Request {
  readonly method: string
  /** The canonical path, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly client: { readonly address: string; readonly encrypted: boolean }
  /** The parsed body; parsed once, frozen by agreement. Change what goes upstream on the Attempt. */
  json(): Promise<Json>
  /** What `json()` gave, once it has: whoever comes later need not wait. */
  readonly parsed: Json | undefined
  /** Of a body that is no JSON: what it says, for `json()` and `parsed` to give from here on. Its bytes stay. */
  means(value: Json): void
  bytes(): Promise<Bytes>
  stream(): AsyncIterable<Bytes>
}
export interface Route {
  readonly name: string
  /** An HTTP method, or `WS`. */
  readonly method: string
  readonly pattern: string
  has(plugin: string): boolean
  /** What a plugin is told on this route: its options, or its default. */
  option(plugin: string): Json | undefined
}
export interface Outcome {
  readonly end: 'complete' | 'cut' | 'hangup' | 'refused'
  readonly status: number
  readonly attempts: number
  readonly bytes: number
  readonly fault?: Fault
}

// ---------------------------------------------------------------- reply, body, filter

export type Body = Bytes | AsyncIterable<Bytes> | undefined
export interface Reply {
  status: number
  headers: Headers
  /** Bytes, or a stream. May be replaced; an `async function*` over the old one is a valid new one. */
  body: Body
  /** Adds a synchronous transform after those already there. The cheap way: no promise per chunk. */
  through(filter: Filter): void
  /** Reads all of it (through the filters so far) and makes it the body. */
  bytes(limit: number): Promise<Bytes>
  /** The first bytes, not consumed: lets `forward` see an error event behind a 200 before anything is sent. A chunk, or
   *  as much as `enough` asks for. */
  peek(enough?: (seen: Bytes) => boolean): Promise<Bytes | undefined>
}
/** All three are synchronous. Back-pressure is the engine's: it pauses the source, never the filter. */
export interface Filter {
  write?(chunk: Bytes, out: Out): void
  /** `tail`: the bytes that make the reply complete (terminal event, last byte of a content-length).
   *  No byte of it leaves before `exchange.writes` is durable. */
  end?(tail: Bytes | undefined, out: Out): void
  /** The source died or was cut. Encode it and `out.end(event, fault)`, or pass it on. */
  fail?(fault: Fault, out: Out): void
}
export interface Out {
  write(chunk: Bytes): void
  /** `reason`: what the tail tells the client went wrong. The reply then counts as cut. */
  end(tail?: Bytes, reason?: Fault): void
  fail(fault: Fault): void
}

// ---------------------------------------------------------------- attempt

/** One try at one target. What it sends may be changed until `next()`. */
export interface Attempt {
  readonly exchange: Exchange
  readonly target: Target
  readonly number: number
  readonly request: { method: string; path: string; headers: Headers; body: Body }
  readonly reply: Reply
  /** Answers in the upstream's place; `next()` need not be called then. */
  answer(status: number, body?: Body | Json, headers?: Headers): Reply
}
export interface Target {
  /** Key in `upstreams:`. */
  readonly upstream: string
  /** The name the upstream knows it by. */
  readonly name?: string
  readonly weight?: number
  /** What a plugin wants to know about it in `forward`. */
  readonly traits?: { readonly [key: string]: Json }
}
export interface Message {
  readonly from: 'client' | 'upstream'
  readonly text: boolean
  readonly payload: Bytes
}

// ---------------------------------------------------------------- faults

/** A run-time fault: any Error with these members. `engine/errors.ts` makes them from tables. */
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
  readonly cause?: unknown
}
export interface Refusal {
  readonly status: number
  readonly headers: Headers
  readonly body: Bytes
  /** The same as an event of a stream, when the head is out. */
  readonly event?: Bytes
}

// ---------------------------------------------------------------- durable writes

/** Stages `add` pure statements. One group = one transaction.
 *  The engine starts the pending group when the first attempt starts (beside it), and waits for all groups
 *  before the first byte and again before the tail. A stage that needs it sooner awaits `commit()`. */
export interface Writes {
  add(...statements: readonly Statement[]): void
  /** What the store applies if this process dies without another word (usage so far); the last will counts, none withdraws it. It goes
   *  by itself when the exchange is over and its groups are durable. */
  will(...statements: readonly Statement[]): void
  /** How far it has come since: stands in the will in place of the value at `Statement.progress`, and is never lost with a
   *  process. For every chunk, before it leaves. */
  progress(count: number): void
  commit(): Promise<void>
}
/** Whole numbers are stored as such, and read as number while that is exact, as bigint beyond 2^53. */
export type Value = string | number | bigint | Bytes | null
export type Row = Readonly<Record<string, Value>>
/** Declared once at the top of a file. Only name and values travel after first use. */
export interface Sql {
  readonly name: string
  /** `?` parameters. The shared dialect; `postgres` only where they truly differ. */
  readonly text: string
  readonly postgres?: string
  /** Places of parameters that are only added to what stands there: of many such statements with the same other values
   *  one may be applied, with the sums, as long as nothing else is in between. It may expect some rows, no number of
   *  them, and gives none. What comes through once only (`Statement.once`) must not touch the same rows. */
  readonly sums?: readonly number[]
}
export interface Statement {
  readonly sql: Sql
  readonly values: readonly Value[]
  /** Rows it must touch; otherwise the whole list is rolled back and rejects with `otherwise`. */
  readonly rows?: number | 'some'
  readonly otherwise?: string
  /** Of a will: the place in `values` of the last `progress`, whose value here is what it was when the will was made. A will
   *  that has such a place does not apply before there is any progress: the client has got nothing yet. */
  readonly progress?: number
  /** Unique or check violations that are an answer, not an accident: constraint or column name -> fault code. */
  readonly violates?: Readonly<Record<string, string>>
  /** Its own unique key lets it through once and never again, and it gives no rows back: the store need not remember the
   *  list that begins with it, to know it when it comes again. */
  readonly once?: true
  /** Rows that it changes without naming them as `UPDATE … WHERE id = ?` does: by a trigger, say. Processes of several machines
   *  then take them in one order and never wait for each other. */
  readonly locks?: readonly {
    readonly table: string
    readonly column: string
    readonly value: string | number | bigint
  }[]
}
export interface Database {
  /** All or none, durable when it resolves. One array of rows (RETURNING) per statement.
   *  Rejects with the fault code of the broken expectation, or STORE_UNAVAILABLE, or STORE_UNKNOWN (the answer to a
   *  commit was lost: the caller retries the SAME list, which its unique ids make harmless). */
  write(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>
  /** A committed snapshot, never on a serving loop's thread. Sees every write acknowledged to this process. */
  read(sql: Sql, values: readonly Value[]): Promise<readonly Row[]>
  /** Pages of a long read; a fresh snapshot per page. The statement ends in two parameters, the key to start after (given
   *  last in `values`) and the size; the key is the first column: `SELECT id, … WHERE … AND id > ? ORDER BY id LIMIT ?`. */
  pages(sql: Sql, values: readonly Value[], size: number): AsyncIterable<readonly Row[]>
  /** The store's clock in ms, for expiry that several machines agree on. */
  now(): Promise<number>
}
export interface Migration {
  readonly number: number
  readonly text: string
  readonly postgres?: string
}

// ---------------------------------------------------------------- host

/** What a plugin is lent outside a route: in commands and at the first start. */
export interface Lent {
  readonly log: Log
  readonly metrics: Metrics
  readonly database: Database
  readonly config: { readonly version: number; readonly hash: string }
  /** The `upstreams:` section, without addresses and keys. */
  readonly upstreams: Readonly<Record<string, UpstreamView>>
  section<T>(name: string): T
  /** The text of a file named relative to routes.yaml. It counts as part of the configuration: watched and hashed. */
  file(path: string): string
  /** One per process and key, counted by snapshots. A new `version` is given the old one to take its state over. */
  share<T extends object>(key: string, version: string, create: (previous: T | undefined) => T): T
  /** The route that a request would meet, as `tollgate explain` finds it; `WS` for a WebSocket. Throws PATH_REFUSED. */
  match(method: string, target: string): Matched
  /** Runs the stages after `after` on a synthetic exchange: a durable task's later turn. */
  run(route: string, turn: Turn): Promise<Reply>
  /** One call without a pipeline. `upstream`: a key of `upstreams:`, or 'public' (guarded: global addresses, no redirects). */
  send(upstream: string, request: Outgoing): Promise<Reply>
  /** The URL, canonical, if `send('public', …)` would go there now; rejects with what is wrong. Resolves its name. */
  judge(url: string): Promise<string>
  /** Background work held by one process of the whole installation at a time, by a lease in the database. `every`: ms. */
  job(name: string, every: number, run: (signal: AbortSignal) => Promise<void>): void
  /** This process among those of the installation. */
  readonly standing: Standing
  /** A number shared exactly by the workers of a machine: limits, leases, concurrency. */
  allowance(name: string, supply: Supply): Allowance
}
/** What a plugin is lent in `setup`: the same, and the route it is set up for. */
export interface Host extends Lent {
  readonly route: Route
}
/** This process as the others know it: a row of the table `tollgate_processes`, whose `id` is its name. What it holds stands
 *  in the store under that name, so that whoever finds it dead can give it back. */
export interface Standing {
  /** Enters the store with the first call: most processes hold nothing. */
  name(): Promise<string>
  /** Whether it still goes by this name: of what it held under another nothing is left. */
  goesBy(name: string): boolean
  /** The store said that nobody goes by this name any more: it begins anew, under another. */
  lost(name: string): void
  /** One for each owner; a later one stands in the place of the first. */
  watch(owner: string, mourner: Mourner): void
}
export interface Mourner {
  /** Nothing that was held is its own any more. */
  lost?(): void
  /** The store has not answered for so long that another may soon take it for dead. Its name may stay. */
  doubtful?(): void
  /** What must be done for a process that is dead before it is buried. May be asked again, and by several at once. */
  dying?(name: string): Promise<void>
  /** What goes back with a process that is dead: in the list that buries it. */
  buried?(name: string): readonly Statement[]
}
export interface Matched {
  readonly route?: Route
  readonly params: Readonly<Record<string, string>>
  /** As it is routed on. */
  readonly path: string
  /** Without the question mark. */
  readonly search: string
  /** The methods that the path has, where no route is met. */
  readonly allowed: readonly string[]
}
export interface UpstreamView {
  /** The plugin that answers in its place (`url: NAME:`), if no origin does. */
  readonly inside?: string
  /** The keys that plugins added (`Plugin.upstream`). */
  readonly options: { readonly [key: string]: Json }
}
export interface Turn {
  readonly after: string
  readonly id: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Headers
    readonly body?: Bytes
  }
  readonly slots: { readonly [name: string]: Json }
  readonly targets: readonly Target[]
  readonly signal?: AbortSignal
}
export interface Outgoing {
  readonly method: string
  readonly path: string
  readonly headers?: Headers
  readonly body?: Bytes | AsyncIterable<Bytes>
  /** ms until the whole reply is there. */
  readonly timeout?: number
  /** With an exchange's, the time until the reply has ended is not its stage's own. */
  readonly signal?: AbortSignal
}
export interface Allowance {
  /** Now, from the slice at hand; `undefined` = ask. */
  take(key: string, amount: bigint): boolean | undefined
  /** Asks the owner for more; false = truly exhausted. */
  ask(key: string, amount: bigint): Promise<boolean>
  /** Gives back what was taken. To a window only where it `returns`, and while the window runs that it was taken from. */
  give(key: string, amount: bigint, window?: number): void
  /** Takes what has been used already, be it allowed or not: a window may go below zero, and refuses until it ends. */
  spend(key: string, amount: bigint): void
  /** ms until a refused key is worth asking again: the end of its window; 0 = nobody knows. */
  wait(key: string): number
  /** How a window stands, as far as this process knows; undefined where it has not asked of late. */
  reading(key: string): Reading | undefined
}
export interface Reading {
  /** Below zero when more was spent than allowed. */
  readonly left: bigint
  /** Until it is whole again. */
  readonly ms: number
  /** Which window this is. */
  readonly window: number
}
/** Where an allowance comes from. `window`: `amount` per `ms`, counted from a key's first use; `returns`: what was taken
 *  too much may be given back. `held`: at most `amount` at once, given back at the end. */
export type Supply =
  | {
      readonly window: { readonly amount: bigint; readonly ms: number; readonly returns?: boolean }
    }
  | { readonly held: { readonly amount: bigint } }
export interface Log {
  debug(fields: object, text?: string): void
  info(fields: object, text?: string): void
  warn(fields: object, text?: string): void
  error(fields: object, text?: string): void
}
export interface Metrics {
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void
  time(name: string, labels: Readonly<Record<string, string>>, seconds: number): void
  gauge(name: string, labels: Readonly<Record<string, string>>, value: number): void
}
export interface Command {
  readonly summary: string
  /** One line a user can paste. */
  readonly example?: string
  readonly options?: Readonly<
    Record<
      string,
      { readonly type: 'string' | 'boolean'; readonly short?: string; readonly summary?: string }
    >
  >
  /** Resolves to the exit code. */
  run(
    args: {
      readonly values: Readonly<Record<string, string | boolean | undefined>>
      readonly positionals: readonly string[]
    },
    host: Lent,
  ): Promise<number>
}
