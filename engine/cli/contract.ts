/** The page of the plugin contract about what operators use: commands, and endpoints of the admin
 *  listener. Types only. */
import type { Json } from '../store/contract.ts'

// ---------------------------------------------------------------- commands

/** `tollgate NAME …`: one verb, or a table of verbs as in `tollgate keys create ann`. Its help, its
 *  usage line and  docs/cli.md are made from it. `Host`: what it runs with. */
export type CommandOf<Host> = VerbOf<Host> | VerbTableOf<Host>
export interface VerbTableOf<Host> {
  readonly summary: string
  readonly verbs: Readonly<Record<string, VerbOf<Host>>>
}
export interface VerbOf<Host> {
  /** One sentence. */
  readonly summary: string
  /** An example to paste. */
  readonly example: string
  /** Arguments after the name: `ACCOUNT AMOUNT`, `[NAME]`. A wrong number prints the usage line. */
  readonly arguments?: string
  readonly options?: Readonly<Record<string, CommandOption>>
  /** Resolves to what is printed, or, where it prints by itself, to the exit code. A thrown
   *  UsageError, or Fault of status 400, is exit code 2; any other Fault 3. */
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

/** Answers one endpoint, `'GET /-/spenders'`, in one worker: 200 with the JSON that it returns, the
 *  status and message of a Fault that it throws, else 500 and a line in the log. */
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
  /** The live version, and the time since it is live (ISO 8601). */
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
