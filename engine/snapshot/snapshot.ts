/** The compiled, frozen configuration, released after the last request that retains it. */
import type {
  AdminRequest,
  Exchange,
  Fault,
  GatewayView,
  Json,
  Refusal,
  Request,
  Route,
  Stage,
  Target,
} from '../plugin.ts'
import type { BodyRules } from '../request/body.ts'
import type { Call } from '../request/exchange.ts'
import { readTarget } from '../request/path.ts'
import type { Run } from '../request/pipeline.ts'
import { type Match, Router } from '../request/router.ts'
import type { UpstreamAttempt } from '../upstream/attempt.ts'
import type { DispatchRules } from '../upstream/dispatch.ts'
import type { Egress } from '../upstream/egress.ts'
import type { Upstream } from '../upstream/upstreams.ts'

/** The `settings:` section, in ms and bytes. */
export interface Settings {
  readonly listen: string
  readonly admin: string
  /** `Host` names that the admin listener answers besides loopback. */
  readonly admin_hosts: string
  readonly public_url: string
  readonly workers: number | 'auto'
  readonly data: string
  readonly database: string
  readonly durability: 'power' | 'process'
  readonly egress_allow: string
  readonly limits: {
    readonly body: number
    readonly url: number
    readonly header_bytes: number
    readonly header_count: number
    /** 0: half of the open files the system allows. */
    readonly connections: number
  }
  readonly timeouts: {
    readonly header: number
    /** Bytes a second. */
    readonly body_rate: number
    readonly keep_alive: number
    readonly idle_write: number
    /** Longest own time of a stage, outside of `next()`; 0: unlimited. */
    readonly stage: number
    readonly drain: number
  }
  readonly log: { readonly level: string }
}

/** A stage with the name of its plugin, for explain, errors and resumed calls. */
export interface NamedStage {
  readonly name: string
  readonly stage: Stage
}
export interface CompiledRoute {
  readonly route: Route
  readonly stages: readonly NamedStage[]
  readonly run: Run<Call>
  /** Runs the stages behind `plugin` only: for a later turn of a durable task. */
  runAfter(plugin: string): Run<Call>
  /** The whole pipeline around another innermost step, for explain. */
  runWith(last: Run<Call>): Run<Call>
  /** The forward ring around another innermost step. */
  forwardWith(last: Run<UpstreamAttempt>): Run<UpstreamAttempt>
  fail(fault: Fault, exchange: Exchange): Refusal
  readonly body: BodyRules
  readonly targets: readonly Target[]
  readonly rules: DispatchRules
  readonly hangup: Exchange['hangup']
  /** Whether its client asks for a stream. */
  streams(request: Request): Promise<boolean>
  /** ms between `: ping` comments until a stream begins; 0: none. */
  readonly ping: number
  /** Of a WebSocket route. `payload`: bytes of the largest message. */
  readonly websocket: { readonly payload: number }
}

/** An admin endpoint of a plugin, with what its handler needs. */
export interface Endpoint {
  readonly plugin: string
  answer(request: AdminRequest, gateway: GatewayView): Json | Promise<Json>
}

export interface SnapshotParts {
  readonly version: number
  readonly hash: string
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  /** Which addresses of customers may be connected to. */
  readonly egress: Egress
  readonly routes: readonly CompiledRoute[]
  readonly admin: ReadonlyMap<string, Endpoint>
  /** The forward ring of calls without a route, around another innermost step. */
  readonly forwardDirect: CompiledRoute['forwardWith']
  /** Releases all shared resources. */
  release(): void
}

export class Snapshot {
  readonly version: number
  readonly hash: string
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly egress: Egress
  readonly routes: readonly CompiledRoute[]
  readonly admin: ReadonlyMap<string, Endpoint>
  readonly forwardDirect: CompiledRoute['forwardWith']
  readonly #http = new Router<CompiledRoute>()
  readonly #websocket = new Router<CompiledRoute>()
  readonly #names = new Map<string, CompiledRoute>()
  readonly #release: () => void
  readonly #released = Promise.withResolvers<void>()
  #users = 0
  #retiring = false
  #isReleased = false

  constructor(parts: SnapshotParts) {
    this.version = parts.version
    this.hash = parts.hash
    this.settings = parts.settings
    this.upstreams = parts.upstreams
    this.egress = parts.egress
    this.routes = parts.routes
    this.admin = parts.admin
    this.forwardDirect = parts.forwardDirect
    this.#release = parts.release
    for (const compiled of parts.routes) {
      const { method, pattern, name } = compiled.route
      this.#names.set(name, compiled)
      if (method === 'WS') this.#websocket.add('GET', pattern, compiled)
      else for (const each of method.split('|')) this.#http.add(each, pattern, compiled)
    }
  }
  exact(method: string, path: string): Match<CompiledRoute> | undefined {
    return this.#http.exact(method, path)
  }
  /** A route of GET answers HEAD, too. */
  find(method: string, path: string): Match<CompiledRoute> | undefined {
    const match = this.#http.find(method, path)
    return match || method !== 'HEAD' ? match : this.#http.find('GET', path)
  }
  findWebSocket(path: string): Match<CompiledRoute> | undefined {
    return this.#websocket.find('GET', path)
  }
  /** Matches as commands and plugins do. The method of a WebSocket is `WS`. Throws PATH_REFUSED. */
  match(method: string, target: string, host = '') {
    const { path, search } = readTarget(target, host)
    const match = method === 'WS' ? this.findWebSocket(path) : this.find(method, path)
    const allowed = match ? [] : this.methods(path)
    return { path, search, allowed, params: match?.params ?? {}, compiled: match?.value }
  }
  named(route: string): CompiledRoute | undefined {
    return this.#names.get(route)
  }
  methods(path: string): readonly string[] {
    const methods = this.#http.methods(path)
    return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : methods
  }
  nearest(path: string): CompiledRoute | undefined {
    return this.#http.nearest(path) ?? this.#websocket.nearest(path)
  }
  retain(): void {
    this.#users++
  }
  release(): void {
    if (--this.#users === 0 && this.#retiring) this.#end()
  }
  get users(): number {
    return this.#users
  }
  /** Resolves when the last request and all shared resources were released. */
  retire(): Promise<void> {
    this.#retiring = true
    if (this.#users === 0) this.#end()
    return this.#released.promise
  }
  /** Once: a turn may begin and end in a snapshot that is released already. */
  #end(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#release()
    this.#released.resolve()
  }
}
