/** Second part of the plugin contract, for plugins that write money or tasks: SQL, transactions,
 *  resumed calls, process membership, background jobs, allowances. Types only; imports nothing. */

export type Bytes = Uint8Array
export type Headers = Record<string, string | string[]>
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

// ---------------------------------------------------------------- statements

/** Whole numbers are stored as integers and read as a number up to 2^53, beyond that as a bigint.
 *  */
export type Value = string | number | bigint | Uint8Array | null
export type Row = Readonly<Record<string, Value>>
/** A SQL statement, declared once at the top of a file. After its first use only the name and the
 *  values are sent. */
export interface Sql {
  readonly name: string
  /** Parameters are `?`. The text is for both stores; `postgres` replaces it if the dialects
   *  differ. */
  readonly text: string
  readonly postgres?: string
  /** Positions of parameters that are only added to a column. The store may replace several such
   *  statements, equal in all other values, by one with the sums, unless another statement is
   *  between them. Such a statement may expect rows, but no number of rows, and returns none. A
   *  `once` statement must not touch the same rows. */
  readonly sums?: readonly number[]
  /** The text is an INSERT that ends in `VALUES (…)`. The store may insert the rows of several such
   *  statements by one. Each expects one row, and returns none. */
  readonly joins?: true
}
export interface Statement {
  readonly sql: Sql
  readonly values: readonly Value[]
  /** Rows that it must touch. Otherwise the whole list is rolled back and rejects with code
   *  `otherwise`. */
  readonly rows?: number | 'some'
  readonly otherwise?: string
  /** For an on-crash statement: the position in `values` that the last `Writes.progress` replaces.
   *  A list with such a position is not applied before there is any progress: the client has
   *  received nothing yet. */
  readonly progress?: number
  /** Expected constraint violations: name of the constraint or column -> fault code. */
  readonly violates?: Readonly<Record<string, string>>
  /** The statement's own unique key admits it once, and it returns no rows: the store need not
   *  record the list that begins with it to detect a repetition. */
  readonly once?: true
  /** Rows that the statement changes without `UPDATE … WHERE id = ?`, for example by a trigger. All
   *  machines lock them in one order, so that lists never deadlock. */
  readonly locks?: readonly {
    readonly table: string
    readonly column: string
    readonly value: string | number | bigint
  }[]
}
/** Tables of one plugin: numbered, forward only. */
export interface Migration {
  readonly number: number
  readonly text: string
  readonly postgres?: string
}

// ---------------------------------------------------------------- transactions

export interface Database {
  /** One list is one transaction, durable when this resolves; one array of rows (RETURNING) a
   *  statement. Rejects with the code of the broken expectation, with STORE_UNAVAILABLE, or with
   *  STORE_UNKNOWN: the result of the commit was lost. The caller then repeats the same list; its
   *  unique ids make that harmless. */
  write(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>
  /** Reads a committed snapshot off the serving thread. It contains every write acknowledged to
   *  this process. */
  read(sql: Sql, values: readonly Value[]): Promise<readonly Row[]>
  /** A long read in pages, each from a new snapshot. The statement ends in two parameters, the key
   *  to start after (the last of `values`) and the size, and its first column is that key: `SELECT
   *  id, … WHERE … AND id > ? ORDER BY id LIMIT ?`. */
  pages(sql: Sql, values: readonly Value[], size: number): AsyncIterable<readonly Row[]>
  /** The clock of the store in ms, for times that several machines agree on. */
  now(): Promise<number>
}
/** The writes that become durable with one exchange. The statements added between two commits form
 *  one group, and one group is one transaction. The engine commits the pending group beside the
 *  first attempt, and awaits all groups before the first byte and again before the tail. A stage
 *  that needs it sooner awaits `commit()`. */
export interface Writes {
  add(...statements: readonly Statement[]): void
  /** On-crash statements: the store applies them if this process crashes (usage so far). A later
   *  call replaces them. They are cleared when the exchange has ended and its groups are durable.
   *  */
  setCrashStatements(...statements: readonly Statement[]): void
  /** The count that replaces the value at `Statement.progress`. Call it for every chunk, before the
   *  chunk leaves: it is one small write into a file of the data folder (`progress/`), no message
   *  to the store. A process of that folder reads the file when this one crashes, so that no
   *  delivered chunk is lost. A process of another machine cannot read it, and leaves the on-crash
   *  statements alone as long as any process of the folder sends heartbeats; after that it applies
   *  them with the values they have in the store. */
  progress(count: number): void
  commit(): Promise<void>
  /** Whether the store has confirmed every group so far. */
  readonly isConfirmed: boolean
  /** Lists that the store must get whatever happens, for example those that undo what a failed
   *  commit may have done. They are in a file of the data folder when this returns: this process
   *  writes them, or after its end another one of the folder, until the store has taken or refused
   *  each. Each list is a transaction, and harmless if it is applied twice. False: the disk could
   *  not take them, so they end with this process. */
  owe(owed: Owed): boolean
  /** A list to owe behind the groups of a reply that is complete while the store is away: what is
   *  to be done if the store refuses them later. Each call adds one. */
  oweNext(list: () => readonly Statement[]): void
}
export interface Owed {
  readonly lists: readonly (readonly Statement[])[]
  /** Once the store has told, in this process only. */
  onDone?(result: OwedResult): void
}
/** Of the last list: its rows, or the code with which the store refused it. */
export interface OwedResult {
  readonly rows: readonly (readonly Row[])[]
  readonly refusedWith?: string
}

// ---------------------------------------------------------------- tasks

/** Where a call may be sent. */
export interface Target {
  /** Key in `upstreams:`. */
  readonly upstream: string
  /** The name that the upstream uses. */
  readonly name?: string
  readonly weight?: number
  /** The operator's cost of a call there, relative to other targets: for `cheapest`. */
  readonly cost?: number
  /** Data for the plugin's `forward`. */
  readonly traits?: Readonly<Record<string, Json>>
  /** Of several addresses and keys, the one to use: see `Durable.pin`. JSON. */
  readonly pin?: TargetPin
  /** Names a conversation: its calls go to one target, address and key while these can be used. */
  readonly affinity?: string
  /** The beginning of the request's content, for `balance: prefix`. */
  readonly prefix?: readonly PrefixBlock[]
  /** Shared by the targets of one list, in place of the rules of the route. Not of a pinned one. */
  readonly rules?: TargetRules
}
export interface TargetRules {
  readonly balance?: Balance
  /** Further statuses after which another attempt is made, beside those of the route. */
  readonly retryOn?: readonly number[]
}
export type Balance =
  | 'first'
  | 'round-robin'
  | 'weighted'
  | 'least-busy'
  | 'fastest'
  | 'cheapest'
  | 'prefix'
/** `hash` stands for everything from the beginning to `end`, a number of characters. */
export interface PrefixBlock {
  readonly hash: number
  readonly end: number
}
/** `address` is one of the upstream's URLs; `key` identifies one of its keys without showing it. A
 *  part that the upstream no longer has is ignored. */
export type TargetPin = { readonly address?: string; readonly key?: string }
export interface UpstreamView {
  /** The plugin that serves this upstream in-process (`url: NAME:`). */
  readonly inside?: string
  /** Shown to operators, beside its name or in its place. */
  readonly title?: string
  /** The name of the credential that a plugin signs with, which does not show it. */
  readonly key?: string
  /** Keys that plugins added to it (`Plugin.upstream`). */
  readonly options: Readonly<Record<string, Json>>
}
export interface RouteMatch<Route> {
  readonly route?: Route
  readonly params: Readonly<Record<string, string>>
  /** Canonical, and the query without its question mark. */
  readonly path: string
  readonly search: string
  /** The methods of this path, if no route has this one. */
  readonly allowedMethods: readonly string[]
}
/** A call without a client and without stages: `host.send`. */
export interface Outgoing {
  readonly method: string
  readonly path: string
  readonly headers?: Headers
  readonly body?: Bytes | AsyncIterable<Bytes>
  /** ms until the whole response has arrived. */
  readonly timeout?: number
  /** With the signal of an exchange, the time until the response has ended does not count as the
   *  stage's own. */
  readonly signal?: AbortSignal
  /** One of `pins`: the address and the key to use. */
  readonly pin?: TargetPin
}
/** A resumed call of a task: the stages behind `after` run on a new request. */
export interface ResumedCall<Exchange> {
  readonly after: string
  readonly id: string
  readonly request: Omit<Outgoing, 'body' | 'timeout' | 'signal' | 'pin'> & {
    readonly body?: Bytes
  }
  readonly slots: Readonly<Record<string, Json>>
  readonly targets: readonly Target[]
  readonly signal?: AbortSignal
  /** Path and query for the upstream, in place of the one that the route makes of the request. */
  readonly upstreamPath?: string
  /** Runs around those stages, like the `handle` of a stage before them: it may set slots, and what
   *  it adds to `exchange.writes` is one transaction with what they add. */
  handle?(exchange: Exchange, next: () => Promise<void>): Promise<void>
}

/** A request that a plugin makes to this gateway, in the name of a client. */
export interface InsideRequest extends Omit<Outgoing, 'timeout' | 'signal' | 'pin' | 'body'> {
  readonly body: Bytes
  /** Whose request it is. */
  readonly client: { readonly address: string; readonly encrypted: boolean }
  /** Aborts when that client leaves. */
  readonly signal: AbortSignal
}
/** Its response; `body` rejects where the gateway breaks it off. */
export interface InsideResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: AsyncIterable<Bytes>
}

// ---------------------------------------------------------------- processes

/** Services of a host for plugins that keep state in the store or make calls. */
export interface Durable<Reply, Route, Exchange> {
  readonly database: Database
  /** This process among the processes of the installation. */
  readonly membership: Membership
  /** Background work, every `every` ms. One process of the installation does it at a time, by a
   *  lease in the store; with `each` every process does it. An aborted or failed run is repeated
   *  sooner. */
  job(
    name: string,
    every: number,
    run: (signal: AbortSignal) => Promise<void>,
    options?: { readonly each?: boolean },
  ): Job
  /** A number that all processes share exactly: rate limits, concurrency. */
  allowance(name: string, supply: Supply): Allowance
  /** The `upstreams:` section, without addresses and keys. */
  readonly upstreams: Readonly<Record<string, UpstreamView>>
  /** The route that a request would take; method `WS` for a WebSocket. Throws PATH_REFUSED. */
  match(method: string, target: string): RouteMatch<Route>
  /** The target with one of its addresses and keys, so that all calls of a task use the same. */
  pin(target: Target): Target
  /** Each address of an upstream with each of its keys; empty if a plugin serves it. */
  pins(upstream: string): readonly TargetPin[]
  /** Runs a resumed call of a task through the stages behind `call.after`. */
  run(route: string, call: ResumedCall<Exchange>): Promise<Reply>
  /** Serves a request like one that `client` sends: with its own id, limits, charge, log line. */
  serve(request: InsideRequest): Promise<InsideResponse>
  /** One call without a route. `upstream`: a key of `upstreams:`, which passes the `forward` of
   *  every plugin with a default, or 'public': global addresses only, no redirects. */
  send(upstream: string, request: Outgoing): Promise<Reply>
  /** Resolves the host and returns the canonical URL if `send('public', …)` may go there now;
   *  rejects with the reason otherwise. */
  checkUrl(url: string): Promise<string>
  /** The text that `make` returned for this name before, also in another process of this machine.
   *  The name contains all that the text depends on. If `make` throws, nothing is kept. */
  memo(name: string, make: () => string): string
  /** An absolute folder in the data folder, for files of this plugin. It exists. */
  folder(name: string): string
  /** 32 random bytes, the same in every process of the installation, for ever. */
  secret(name: string): Promise<Bytes>
  /** A path at the public address of the gateway (`settings.public_url`). */
  url(path: string): string
  /** Whether it listens on loopback only, and customers have no other URL. */
  isLocal(): boolean
}
/** A job of this process. */
export interface Job {
  /** Runs it now, where this process is the one to do it; after the present run, if any. */
  wake(): void
}
/** Membership of this process: a row of the table `tollgate_processes`, whose `id` is its name.
 *  The store records reservations under that name, so that a peer can release them after this
 *  process crashed. */
export interface Membership {
  /** Registers with the first call: most processes reserve nothing. */
  name(): Promise<string>
  /** False for an earlier name: what was reserved under it has been released. */
  isCurrent(name: string): boolean
  /** The store no longer knows this name: the process registers again under another. */
  reportExpelled(name: string): void
  /** Aborts when this process begins to shut down: a stage that waits for an event answers now. */
  readonly leaving: AbortSignal
  /** One listener an owner; a later one replaces the first. */
  listen(owner: string, listener: PeerListener): void
}
/** Reacts to processes that crashed; for owners of reservations. */
export interface PeerListener {
  /** This process was expelled: its own reservations are released already. */
  onExpelled?(): void
  /** The store has not answered for so long that this process may soon be expelled. Its name may
   *  stay valid. */
  onSuspect?(): void
  /** Runs before a dead process is reaped. May run again, and on several machines at once. */
  beforeReap?(name: string): Promise<void>
  /** Statements of the list that reaps a dead process: they release what it reserved. */
  reapStatements?(name: string): readonly Statement[]
}

// ---------------------------------------------------------------- allowances

/** `window`: `amount` per `ms`, counted from the first use of a key; `returns`: unused units may be
 *  given back. `concurrency`: at most `amount` at once, given back at the end. */
export type Supply =
  | {
      readonly window: { readonly amount: bigint; readonly ms: number; readonly returns?: boolean }
    }
  | { readonly concurrency: { readonly amount: bigint } }
export interface Allowance {
  /** Takes from the units at hand. `undefined`: `request` has to decide; `false`: exhausted. */
  take(key: string, amount: bigint): boolean | undefined
  /** Requests units from the owner of the number. `false`: exhausted. */
  request(key: string, amount: bigint): Promise<boolean>
  /** Gives units back. To a window only where it `returns`, and only to the `window` they were
   *  taken from. */
  returnUnits(key: string, amount: bigint, window?: number): void
  /** Counts units that are used already, allowed or not: a window may fall below zero, and refuses
   *  until it ends. */
  spend(key: string, amount: bigint): void
  /** ms until a refused key may be requested again: the end of its window. 0: unknown. */
  retryAfter(key: string): number
  /** The window as far as this process knows it; undefined if it has not requested units
   *  recently. */
  reading(key: string): Reading | undefined
}
export interface Reading {
  /** Below zero when more was used than allowed. */
  readonly remaining: bigint
  /** ms until the window ends. */
  readonly ms: number
  /** Identifies the window. */
  readonly window: number
}
