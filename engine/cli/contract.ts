/** The page of the plugin contract about what operators use: commands, and endpoints of the admin listener.
 *  Types only. */
import type { Json } from '../store/contract.ts'

// ---------------------------------------------------------------- commands

/** `tollgate NAME …`: one verb, or a table of verbs as in `tollgate keys create ann`. Its help, its usage line and
 *  docs/cli.md are made from it. `Host`: what it runs with. */
export type CommandOf<Host> = VerbOf<Host> | VerbTableOf<Host>
export interface VerbTableOf<Host> {
  readonly summary: string
  readonly verbs: Readonly<Record<string, VerbOf<Host>>>
}
export interface VerbOf<Host> {
  /** One sentence. */
  readonly summary: string
  /** A line a user can paste. */
  readonly example: string
  /** What follows the name: `ACCOUNT AMOUNT`, `[NAME]`. Too few and too many are refused with the usage line. */
  readonly arguments?: string
  readonly options?: Readonly<Record<string, CommandOption>>
  /** Resolves to what is printed, or, where it prints by itself, to the exit code. A thrown UsageError, or Fault of
   *  status 400, is exit code 2; any other Fault 3. */
  run(args: CommandArguments, host: Host): Promise<CommandResult | number>
}
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly summary: string
  readonly short?: string
  /** May be given more than once. */
  readonly multiple?: boolean
  /** The word for the value: `--body FILE`. */
  readonly value?: string
}
export interface CommandArguments {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly positionals: readonly string[]
}
export interface CommandResult {
  /** Printed as columns under the names of the first row; `none` where there are no rows. */
  readonly rows?: readonly Readonly<Record<string, string | number>>[]
  /** Printed in place of the rows, as it is. */
  readonly text?: string
  /** Printed behind the rows. */
  readonly after?: string
  /** What `--json` prints; the rows without it. */
  readonly json?: unknown
  readonly exit?: number
}

// ---------------------------------------------------------------- the admin listener

/** Answers one endpoint, `'GET /-/spenders'`, in one worker: 200 with the JSON that it returns, the status and message of
 *  a Fault that it throws, else 500 and a line in the log. */
export type AdminHandlerOf<Host> = (
  request: AdminRequest,
  host: Host & { readonly gateway: GatewayView },
) => Json | Promise<Json>
export interface AdminRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** What the body says in JSON; undefined where there is none. */
  readonly body: Json | undefined
}
/** What the gateway knows of itself. */
export interface GatewayView {
  readonly url: string
  /** The version that serves, and since when (ISO 8601). */
  readonly version: number
  readonly hash: string
  readonly time: string
  readonly workers: readonly {
    readonly number: number
    readonly pid: number
    readonly state: string
    readonly version: number
  }[]
  /** Why the last reload failed, until one succeeds. */
  readonly failure: { readonly time: string; readonly problems: readonly ProblemView[] } | null
  readonly routes: readonly RouteView[]
  /** By their keys in `upstreams:`. Health and load are those that the answering worker knows. */
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
  /** Scheme, host and port, or `NAME:` where a plugin answers. */
  readonly address: string
  /** `ejected` after failures, `probing` until one request succeeds, `paused` by its own Retry-After. */
  readonly state: 'ready' | 'ejected' | 'probing' | 'paused'
  /** Requests under way. */
  readonly busy: number
}
