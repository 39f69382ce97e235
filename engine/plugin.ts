/** The contract of plugins, types only: what a plugin is and what the engine offers to it; with the
 *  contract.ts of request/, request-log/, store/, cli/, egress/ and processes/. */
import type { CommandOf, CommandPartsOf, Observed, SingleCommandOf } from './cli/contract.ts'
import type { AuthHostOf, AuthMethodOf, SendMail, SendToOperator, Sign } from './egress/contract.ts'
import type { RouteDescription } from './processes/contract.ts'
import type {
  Attempt,
  Exchange,
  Fault,
  KeyMethodOf,
  Message,
  Refusal,
  Reply,
  Request,
  Route,
} from './request/contract.ts'
import type { Durable, Headers, Json, Migration } from './store/contract.ts'

export type * from './cli/contract.ts'
export type * from './egress/contract.ts'
export type * from './processes/contract.ts'
export type * from './request/contract.ts'
export type * from './request-log/contract.ts'
export type * from './store/contract.ts'

/** The default export of `plugins/NAME.ts` or `plugins/NAME/index.ts`: `satisfies Plugin<…>`. */
export interface Plugin<Options = unknown> extends CommandPartsOf<HostBase> {
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
  /** Limits keys of upstreams by members that it adds to entries of `key:`. */
  readonly keys?: KeyMethodOf<HostBase>
  /** Lower-case names of request headers with client credentials: no upstream gets them. */
  readonly credentialHeaders?: readonly string[]
  /** Forms of bodies that this plugin brings, by name; other plugins read them as `host.formats`.
   *  They become names of every `enum` of a schema with `$comment: 'formats'`. */
  readonly formats?: Readonly<Record<string, object>>
  /** Plugins that must come after or before this one in `pipeline:`, if they are in it. */
  readonly before?: readonly string[]
  readonly after?: readonly string[]
  /** Words of other gateways, with the way to say the same here: unknown keys show it. */
  readonly hints?: Readonly<Record<string, string>>
  /** Tables of this plugin, created before any `setup`; plugins whose tables they refer to. */
  readonly migrations?: readonly Migration[]
  readonly needs?: readonly string[]
  /** Runs once per route and version. It starts no traffic and no timers; use `host` for these. */
  setup(options: Options, host: Host): Stage | Promise<Stage>
  /** Runs in one process once the first version is live. Its text is printed below the banner. */
  welcome?(host: HostBase, gateway: { readonly url: string }): Promise<string | undefined>
}
/** The work of one plugin on one route. Absent members cost nothing. */
export interface Stage {
  /** It answers, or fills `exchange.targets`, from these upstreams: `upstream:` is not needed. */
  readonly answers?: boolean
  readonly targets?: boolean | readonly string[]
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
  /** The headers of every reply of the route, also of errors, from those of the reply. Pure. */
  headers?(headers: Headers, request: Request): Headers
  /** Headers of the 204 to an OPTIONS request by which a browser asks whether it may send another.
   *  No other stage runs. `methods`: those of the path. The first stage's counts. Pure. */
  preflight?(request: Request, methods: readonly string[]): Headers
  /** Whether the client asks for a stream, for `ping:`. The first stage that has it decides. */
  streams?(request: Request): boolean | Promise<boolean>
  /** The event that `ping:` sends, framed; a comment by default. The first stage's counts. */
  readonly ping?: string
  /** Its part of the description of the route, for `host.gateway.routes` and OpenAPI. */
  describe?(): RouteDescription
  /** Describes what this stage would do, for `tollgate explain`. */
  explain?(exchange: Exchange): Json
}
export type Next = () => Promise<void>
/** The content of routes.yaml, checked and with variables expanded. */
export type Document = Readonly<Record<string, Json | undefined>>

/** The services of the engine in commands, admin endpoints and at the first start. */
export interface HostBase extends Observed, Durable<Reply, Route, Exchange> {
  /** `isTrial`: not in a worker; a version or a command is tried out, and no request follows. */
  readonly config: { readonly version: number; readonly hash: string; readonly isTrial: boolean }
  section<T>(name: string): T
  /** The `Plugin.formats` of this version's plugins. */
  readonly formats: Readonly<Record<string, object>>
  readonly request: SendToOperator
  readonly mail: SendMail
  /** The text of a file beside routes.yaml. As part of the configuration it is watched. */
  file(path: string): string
  /** One object per process and key; `create` replaces the object of another `version`. */
  share<T extends object>(key: string, version: string, create: (previous: T | undefined) => T): T
}
export type Command = CommandOf<HostBase>
export type SingleCommand = SingleCommandOf<HostBase>
export type CommandParts = CommandPartsOf<HostBase>
export type AuthHost = AuthHostOf<HostBase>
export type KeyMethod = KeyMethodOf<HostBase>
export type Host = HostBase & { readonly route: Route }
