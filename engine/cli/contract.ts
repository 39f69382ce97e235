/** The part of the plugin contract for operators: commands, endpoints of the admin listener, the
 *  log and metrics. Types only. */
import type { Json } from '../store/contract.ts'

// ---------------------------------------------------------------- commands

/** `tollgate NAME …`: one command, or a group of commands as in `tollgate keys create ann`. Its
 *  help, its usage line and docs/cli.md are generated from it. `Host`: the second argument of
 *  `run`. */
export type CommandOf<Host> = SingleCommandOf<Host> | CommandGroupOf<Host>
export interface CommandGroupOf<Host> {
  readonly summary: string
  readonly subcommands: Readonly<Record<string, SingleCommandOf<Host>>>
  /** The subcommand that runs where none is named. */
  readonly default?: string
}
export interface SingleCommandOf<Host> {
  /** One sentence. */
  readonly summary: string
  /** An example to paste. */
  readonly example: string
  /** Arguments after the name: `ACCOUNT AMOUNT`, `[NAME]`. A wrong number prints the usage line. */
  readonly arguments?: string
  readonly options?: Readonly<Record<string, CommandOption>>
  /** Resolves to the result to print, or to the exit code if the command printed by itself.
   *  Rejects with a UsageError or a Fault of status 400 for exit code 2, with any other Fault for
   *  exit code 3. */
  run(args: CommandArguments, host: Host): Promise<CommandResult | number>
}
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly summary: string
  readonly short?: string
  /** Whether it can be repeated. */
  readonly multiple?: boolean
  /** Name of the value in the help: `--body FILE`. */
  readonly value?: string
}
export interface CommandArguments {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly positionals: readonly string[]
  /** For commands of plugins: GETs a path of the admin listener of the running gateway of the data
   *  folder. Rejects with a Fault where none runs, or if it refuses. */
  ask?(path: string): Promise<Json>
}
export interface CommandResult {
  /** Printed as a table with the first row as header; `none` if there are no rows. */
  readonly rows?: readonly Readonly<Record<string, string | number>>[]
  /** Text that is printed instead of the rows. */
  readonly text?: string
  /** Text that is printed after the rows. */
  readonly after?: string
  /** Value that `--json` prints; defaults to the rows. */
  readonly json?: unknown
  readonly exit?: number
}

// ---------------------------------------------------------------- the admin listener

/** Serves one endpoint, such as `GET /-/spenders`, in one worker. It returns the JSON of a response
 *  with status 200. A Fault that it throws gives the status and message of the response; any other
 *  error gives status 500 and a line in the log. */
export type AdminHandlerOf<Host> = (
  request: AdminRequest,
  host: Host & { readonly gateway: GatewayView },
) => Json | Promise<Json>
export interface AdminRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The JSON body; undefined without a body. */
  readonly body: Json | undefined
}
/** The state of the gateway. */
export interface GatewayView {
  readonly url: string
  /** The live version; `time`: since when it is live (ISO 8601). */
  readonly version: number
  readonly hash: string
  readonly time: string
  readonly workers: readonly {
    readonly number: number
    readonly pid: number
    readonly state: string
    readonly version: number
  }[]
  /** Problems of the last reload, until one succeeds. */
  readonly failure: { readonly time: string; readonly problems: readonly ProblemView[] } | null
  readonly routes: readonly RouteView[]
  /** By key in `upstreams:`. Health and load are those of the responding worker. */
  readonly upstreams: Readonly<Record<string, readonly AddressView[]>>
  /** The keys of those upstreams that have some. */
  readonly keys: Readonly<Record<string, readonly KeyView[]>>
}
export interface ProblemView {
  readonly code: string
  readonly message: string
  readonly file: string
  readonly line: number
  readonly column: number
}
export interface RouteView {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly stages: readonly string[]
  readonly upstreams: readonly string[]
}
export interface AddressView {
  /** Scheme, host and port, or `NAME:` if a plugin serves the upstream. */
  readonly address: string
  /** `ejected` after failures, `probing` until a request succeeds, `paused` by its Retry-After. */
  readonly state: 'ready' | 'ejected' | 'probing' | 'paused'
  /** Requests in progress. */
  readonly busy: number
}
/** A key of an upstream, without the key itself. */
export interface KeyView {
  /** The first 12 digits of its SHA-256. */
  readonly key: string
  /** `resting` after a refusal, `probing` until a request succeeds, `limited` after a 429. */
  readonly state: 'ready' | 'resting' | 'probing' | 'limited'
  /** Seconds until its rest ends. */
  readonly seconds: number
  /** Names of the targets that it is limited for. */
  readonly limited: readonly string[]
}

// ---------------------------------------------------------------- log and metrics

type Level = 'debug' | 'info' | 'warn' | 'error'
export type Log = Readonly<Record<Level, (fields: object, text?: string) => void>>
export interface Metrics {
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void
  time(name: string, labels: Readonly<Record<string, string>>, seconds: number): void
  gauge(name: string, labels: Readonly<Record<string, string>>, value: number): void
}
