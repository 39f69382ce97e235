/** The part of the plugin contract for the running gateway: its routes, versions, health, reloads
 *  and checks. Types only. */
import type { Json } from '../store/contract.ts'

/** The gateway as plugins see and control it: whoever can call these is an operator. Every worker
 *  answers; a command and a first start know the routes only, and their other calls reject with
 *  NO_GATEWAY. Calls reject with GATEWAY_TIMEOUT after their time. */
export interface Gateway {
  /** The routes of the plugin's version, in the order of routes.yaml. Throws NOT_READY during
   *  `setup`. */
  readonly routes: readonly RouteView[]
  /** Live version, workers, last failed reload, and health as all workers see it. */
  status(): Promise<GatewayStatus>
  /** The present values of these metrics of the machine, by names without `tollgate_`: counters
   *  since its start, of all workers together; gauges of its living processes, added up. */
  readings(names: readonly string[]): Promise<readonly MetricReading[]>
  /** The stored versions, newest first. */
  history(): Promise<readonly VersionView[]>
  /** The configuration files by name, relative to the folder of routes.yaml: those of a stored
   *  version, or those on the disk. They may hold secrets in plain text. Rejects with
   *  NO_VERSION. */
  files(version?: number): Promise<ConfigFiles>
  /** The changes from a stored version to another, or to the files on the disk. */
  diff(from: number, to?: number): Promise<readonly FileDiff[]>
  /** Loads the files, and puts them live unless they have problems. */
  reload(): Promise<ReloadReport>
  /** Puts a stored version live; by default the one before the live version. */
  rollback(version?: number): Promise<ReloadReport>
  /** All problems that the configuration would have with this text in place of a file (default:
   *  routes.yaml), as `tollgate check` finds them. Nothing is written or put live, but the plugins
   *  that the text names are loaded. */
  check(text: string, file?: string): Promise<readonly ProblemView[]>
  /** Replaces the text of a configuration file on the disk, at once and whole. Rejects with
   *  NO_FILE for a file that the configuration does not read, with FILE_CHANGED unless the file
   *  still has the text `before`, and with FILE_NOT_WRITTEN if the system refuses. */
  save(file: string, text: string, before: string): Promise<void>
  /** The text of a configuration file with values written into it; nothing is saved. Rejects with
   *  NO_FILE, EDIT_EXISTS, EDIT_UNKNOWN, EDIT_SYNTAX, EDIT_ITEM, EDIT_PLACE. */
  edit(edit: ConfigurationEdit): Promise<EditedFile>
  /** JSON Schema of routes.yaml with the keys of all plugins, for editors. */
  schema(): Promise<Json>
}

export interface MetricReading {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** One number. For a histogram: one per bucket, one above the last bound, and the sum. */
  readonly values: readonly number[]
  /** Of a histogram: the upper bounds of its buckets, in seconds. */
  readonly bounds?: readonly number[]
}

/** Keys of maps, and members by which an item of a list is found. */
export type EditPath = readonly (string | Readonly<Record<string, string>>)[]
export interface ConfigurationEdit {
  /** All in one file. */
  readonly changes: readonly { readonly path: EditPath; readonly value: Json }[]
  /** Relative to the folder of routes.yaml; by default the file that has most of the first path. */
  readonly file?: string
  /** An entry that the file must have. */
  readonly within?: EditPath
  /** The first path must be in no file yet. */
  readonly isNew?: boolean
  /** A text: of files that have as much of the path, the one that has it most often. */
  readonly near?: string
}
export interface EditedFile {
  readonly file: string
  readonly before: string
  readonly text: string
  /** Of a unified diff. */
  readonly lines: readonly string[]
}

/** A compiled route. */
export interface RouteView {
  readonly name: string
  /** An HTTP method, several as `GET|POST`, or `WS`. */
  readonly method: string
  /** Its pattern: `/v1/items/{id}`. */
  readonly path: string
  /** Its plugins, in the order of `pipeline:`. */
  readonly stages: readonly string[]
  /** Options by plugin, with defaults. */
  readonly options: Readonly<Record<string, Json>>
  /** Keys in `upstreams:` that the route names itself. */
  readonly upstreams: readonly string[]
  /** JSON Schema of the request body, if a stage validates it. */
  readonly schema?: Json | undefined
  /** The descriptions of its calls by its stages, joined. */
  readonly about: RouteDescription
  /** Where it is defined, as of the load of this version. */
  readonly place?: { readonly file: string; readonly line: number }
}

/** The calls of a route, for people and for OpenAPI. A stage describes its own part. */
export interface RouteDescription {
  /** The effect of a call: a sentence without a full stop. */
  readonly summary?: string
  /** Bodies of requests by media type, with their JSON Schemas. */
  readonly body?: Readonly<Record<string, Json>>
  /** Schemas of members of its JSON body that depend on the configuration. */
  readonly members?: Readonly<Record<string, Json>>
  /** Its JSON bodies may be, or must be, multipart forms with these fields as files. */
  readonly form?: { readonly files: readonly string[]; readonly isOnly: boolean }
  readonly parameters?: readonly {
    readonly name: string
    readonly in: 'query' | 'header'
    readonly description: string
    readonly schema: Json
    readonly required?: boolean
  }[]
  /** Bodies of successful responses by media type, with their JSON Schemas; `status`: of these. */
  readonly responses?: Readonly<Record<string, Json>>
  readonly status?: number
  /** JSON bodies with other successful statuses. */
  readonly alternatives?: Readonly<Record<string, Json>>
  /** Headers of successful responses, with what they are. */
  readonly headers?: Readonly<Record<string, string>>
  /** JSON Schema of error bodies. */
  readonly error?: Json
  /** Statuses of errors, with when they occur. Others may occur too. */
  readonly refusals?: Readonly<Record<string, string>>
  /** Where a credential is accepted, one of these. None: the route is public. */
  readonly credentials?: readonly {
    readonly kind: string
    readonly in: 'query' | 'header' | 'cookie'
    readonly name: string
  }[]
  /** Calls without a credential are served too. */
  readonly isOpen?: boolean
  /** Only accounts with this role may call it. */
  readonly role?: string
  /** The price of a call. */
  readonly price?: Json
  /** The calls one by one, if a route serves several. `path` is of the route's pattern. */
  readonly operations?: readonly (RouteDescription & {
    readonly name: string
    readonly method: string
    readonly path: string
  })[]
}

export interface WorkerView {
  readonly number: number
  readonly pid: number
  readonly state: string
  readonly version: number
}
/** The primary's view of the gateway: the body of `GET /-/config`. */
export interface LiveView {
  readonly url: string
  /** The live version; `time`: since when it is live (ISO 8601). */
  readonly version: number
  readonly hash: string
  readonly time: string
  readonly workers: readonly WorkerView[]
  /** Why `GET /-/ready` answers 503; empty while it is ready. */
  readonly unready: readonly string[]
  /** Problems of the last reload, until one succeeds. `text`: for people, with source excerpts. */
  readonly failure: {
    readonly time: string
    readonly problems: readonly ProblemView[]
    readonly text: string
  } | null
}
/** The gateway as handlers of admin endpoints see it. */
export interface GatewayView extends LiveView {
  readonly routes: readonly RouteView[]
}
export interface GatewayStatus extends LiveView {
  /** By key in `upstreams:`, over all workers that answered within a second. */
  readonly upstreams: Readonly<Record<string, readonly AddressStatus[]>>
  /** The keys of those upstreams that have some. */
  readonly keys: Readonly<Record<string, readonly KeyStatus[]>>
}
/** How many workers see each state; `state` is the worst of them, `busy` their sum. */
export interface AddressStatus extends AddressView {
  readonly workers: Readonly<Partial<Record<AddressView['state'], number>>>
}
/** `seconds`: the longest rest; `limited`: in any worker. */
export interface KeyStatus extends KeyView {
  readonly workers: Readonly<Partial<Record<KeyView['state'], number>>>
}
export interface AddressView {
  /** Scheme, host and port, or `NAME:` if a plugin serves the upstream. */
  readonly address: string
  /** `ejected` after failures, `probing` until a request succeeds, `paused` by its Retry-After. */
  readonly state: 'ready' | 'ejected' | 'probing' | 'paused'
  /** Requests in progress. */
  readonly busy: number
  /** Answered calls of conversations (`affinity:`) that belong to this address, and of those that
   *  had to move here or to another key, since the process started. */
  readonly conversations: { readonly own: number; readonly moved: number }
  /** Names of targets that are being warmed up (`warm_up:`). */
  readonly warming: readonly string[]
  readonly since: Since
}
/** When it came into its state, ms since 1970: the first of its ejections in a row, for `probing`
 *  too. Null: `ready` since the gateway knows it. */
type Since = number | null
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
  readonly since: Since
}

/** The caller of a reload. `command line`: a user of the operating system, named by its command. */
export interface ReloadCaller {
  readonly via: 'command line' | 'admin listener'
  readonly name: string
}
/** A stored version. */
export interface VersionView {
  readonly version: number
  readonly hash: string
  /** When it went live, ISO 8601. */
  readonly time: string
  /** Number of the version that this rollback restored. */
  readonly from?: number
  /** Who asked for it; absent: a changed file, a signal, or a start. */
  readonly by?: ReloadCaller
  /** Its changes: `1 route added`; absent for the first one of a start. */
  readonly change?: string
  readonly isLive: boolean
  /** Names of its files. */
  readonly files: readonly string[]
}
export type ConfigFiles = Readonly<Record<string, string>>
export interface FileDiff {
  readonly file: string
  /** Lines of a unified diff without its header: `@@ -1,4 +1,5 @@`, then ` `, `-` or `+` and the
   *  line. */
  readonly lines: readonly string[]
}
export interface ReloadReport {
  readonly outcome: 'live' | 'unchanged' | 'problems'
  /** The live version. */
  readonly version: number
  /** The report for people. */
  readonly text: string
  readonly problems?: readonly ProblemView[]
  readonly time: string
}
export interface ProblemView {
  readonly code: string
  readonly message: string
  /** Relative to the folder of routes.yaml. */
  readonly file: string
  /** Both count from 1. */
  readonly line: number
  readonly column: number
  /** Characters from `column` on that are meant. */
  readonly length?: number
  /** The word probably meant. */
  readonly suggestion?: string
  /** Of `check`: the message with the suggestion, as `tollgate check` prints it. */
  readonly text?: string
  /** Of `check` and an unknown key: the allowed keys, in the words of editors. */
  readonly hint?: string
}
