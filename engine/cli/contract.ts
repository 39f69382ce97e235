/** The part of the plugin contract for operators: commands, endpoints of the admin listener, the
 *  log and metrics. Types only. */
import type { Gateway, GatewayView } from '../processes/contract.ts'
import type { RequestLog } from '../request-log/contract.ts'
import type { Json } from '../store/contract.ts'

// ---------------------------------------------------------------- commands

/** `tollgate NAME …`: one command, or a group of commands as in `tollgate keys create ann`. Its
 *  help, its usage line and docs/cli.md are generated from it. `Host`: the second argument of
 *  `run`. */
export type CommandOf<Host> = SingleCommandOf<Host> | CommandGroupOf<Host>
export interface CommandGroupOf<Host> {
  readonly summary: string
  /** Its commands run at once, and while routes.yaml has problems: their host has the store, the
   *  sections, the log and the request log. A command that uses routes or upstreams starts again
   *  with the host of the whole configuration. */
  readonly standalone?: boolean
  readonly subcommands: Readonly<Record<string, SingleCommandOf<Host>>>
  /** The subcommand that runs if none is named. */
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
  /** As of a group. */
  readonly standalone?: boolean
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
   *  folder. Rejects with a Fault if none runs, or if it refuses. */
  ask?(path: string): Promise<Json>
  /** For commands of plugins that take long: prints how far the work is. Call it as often as you
   *  like; it prints every two seconds, and only in a terminal. */
  readonly report?: ReportProgress
}
/** `report('audit', 3, 7, 'rules')`. */
export type ReportProgress = (what: string, done: number, all: number, unit: string) => void
export interface CommandResult {
  /** Printed as a table with the names of the first row as header, null as an empty cell; `none` if
   *  there are no rows. */
  readonly rows?: readonly Readonly<Record<string, string | number | null>>[]
  /** Text that is printed instead of the rows. */
  readonly text?: string
  /** Text that is printed after the rows. */
  readonly after?: string
  /** Value that `--json` prints; defaults to the rows. */
  readonly json?: unknown
  readonly exit?: number
}

// ---------------------------------------------------------------- members of plugins

type Sections = { readonly [section: string]: Json | undefined }
/** The members of a plugin for operators. A document is valid routes.yaml. */
export interface CommandPartsOf<Host> {
  /** Commands: `tollgate NAME …`; endpoints of the admin listener: `'GET /-/spenders'`. */
  readonly commands?: Readonly<Record<string, CommandOf<Host>>>
  readonly admin?: Readonly<Record<string, AdminHandlerOf<Host>>>
  /** Finds the operator whose credential a request to the admin listener has, in a worker. Throws a
   *  Fault for any other credential. The first plugin of `pipeline:` that has this member decides;
   *  without one, endpoints of operators answer on the socket of the data folder only. */
  authorizeOperator?(credential: PresentedCredential, host: Host): Promise<Operator>
  /** Its metrics without the prefix `tollgate_`, with a sentence each, which scrapes show: `{
   *  blocked_total: 'Requests that the filter refused.' }`. */
  readonly metrics?: Readonly<Record<string, string>>
  /** The name of its upstreams' answers (`url: NAME:`), for the banner: 'simulated responses'. */
  readonly serves?: string
  /** Reports problems that no schema can express (an unknown name). Pure; runs after validation. */
  check?(document: Sections, report: Report, host: CheckHostOf<Host>): void
  /** `tollgate lint`: advice on a document. Pure. */
  lint?(document: Sections, advise: Advise): void
  /** `tollgate diff`: what a change does to money; shown before all else. Pure. */
  effects?(before: Sections, after: Sections): readonly Effect[]
  /** `tollgate check --live`: asks the upstreams. No request may cost anything. */
  checkLive?(host: Host): Promise<readonly LiveFinding[]>
  /** `tollgate doctor`: whether the folders and services that its sections name can be used. No
   *  request may cost anything, and nothing is left behind. `data`: the data folder, which may not
   *  exist yet. */
  doctor?(host: Host, data: string): Promise<readonly DoctorFinding[]>
}
/** The input of a plugin's `check`. `before`: the document that was checked last, if it had no
 *  problems: a value that is the same object in both was checked with it. */
export type CheckHostOf<Host> = Pick<Host, Extract<keyof Host, 'memo' | 'formats'>> & {
  readonly before?: Sections | undefined
}
export type KeyPath = readonly (string | number)[]
/** Reports a problem: path of keys, code in CAPITALS, message, the word probably meant. */
export type Report = (at: KeyPath, code: string, message: string, suggestion?: string) => void
/** Reports advice: path of keys, code in CAPITALS, message with the way out. */
export type Advise = (at: KeyPath, severity: Severity, code: string, message: string) => void
/** `error`: money or secrets are at risk; `warning`: probably a mistake; `info`: good to know. */
export type Severity = 'error' | 'warning' | 'info'
export interface Effect {
  /** The owner of the amount: `route reports`. */
  readonly subject: string
  /** `input`. */
  readonly item: string
  /** With its unit; undefined: there was, or is, none. */
  readonly before: string | undefined
  readonly after: string | undefined
  /** Of the amount; undefined if one of both is missing or zero. */
  readonly percent?: number
}
export interface DoctorFinding {
  /** The name of the check: `telemetry`. */
  readonly check: string
  /** `failure`: what is configured does not work. */
  readonly state: 'ok' | 'warning' | 'failure'
  readonly text: string
  /** The remedy; empty if nothing is to do. */
  readonly advice: string
}
export interface LiveFinding {
  readonly upstream: string
  readonly address: string
  readonly key: string
  readonly answer: string
  /** Names of configured targets that the upstream does not have. */
  readonly missing: readonly string[]
  /** Whether calls with this key at this address must fail. */
  readonly fails: boolean
}

// ---------------------------------------------------------------- the admin listener

/** Serves one endpoint, such as `GET /-/spenders`, in one worker. It returns the JSON of a response
 *  with status 200. A Fault that it throws gives the status and message of the response; any other
 *  error gives status 500 and a line in the log. */
export type AdminHandlerOf<Host> = (
  request: AdminRequest,
  host: Host & { readonly gateway: Gateway & GatewayView },
) => Json | Promise<Json>
export interface AdminRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The JSON body; undefined without a body. */
  readonly body: Json | undefined
  /** Who sent it, with a credential; undefined over the socket of the data folder. */
  readonly operator?: Operator
  /** IP address of the caller; undefined over the socket of the data folder. */
  readonly address?: string
}
/** An account that may operate the gateway. */
export interface Operator {
  /** Number of the account. */
  readonly id: number
  readonly name: string
}
/** The credential of a caller of the admin listener. */
export interface PresentedCredential {
  /** The header `Authorization`. */
  readonly authorization: string
  /** IP address of the caller. */
  readonly address: string
}

// ---------------------------------------------------------------- log and metrics

type Level = 'debug' | 'info' | 'warn' | 'error'
export type Log = Readonly<Record<Level, (fields: object, text?: string) => void>>
export interface Metrics {
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void
  time(name: string, labels: Readonly<Record<string, string>>, seconds: number): void
  gauge(name: string, labels: Readonly<Record<string, string>>, value: number): void
}
/** Services for operators in every host of a plugin. */
export interface Observed {
  readonly log: Log
  readonly metrics: Metrics
  readonly gateway: Gateway
  /** The finished requests of this machine. */
  readonly requests: RequestLog
}
