/** The compiled, frozen gateway: found by every request, retained while one runs in it, retired after the last. */

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
import type { Run } from '../request/pipeline.ts'
import { type Match, Router } from '../request/router.ts'
import type { Try } from '../upstream/attempt.ts'
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
    /** Of a stage's own, outside of `next()`; 0: any. */
    readonly stage: number
    readonly drain: number
  }
  readonly log: { readonly level: string }
}

/** A stage with the name of its plugin, for explain, for errors, and for turns that begin behind it. */
export interface NamedStage {
  readonly name: string
  readonly stage: Stage
}
export interface CompiledRoute {
  readonly route: Route
  readonly stages: readonly NamedStage[]
  readonly run: Run<Call>
  /** The stages behind `plugin` only: a durable task's later turn. */
  runAfter(plugin: string): Run<Call>
  /** The whole pipeline around another last step: explain, WebSocket. */
  runWith(last: Run<Call>): Run<Call>
  /** The forward ring around another last step. */
  forwardWith(last: Run<Try>): Run<Try>
  fail(fault: Fault, exchange: Exchange): Refusal
  readonly body: BodyRules
  readonly targets: readonly Target[]
  /** How it is sent. */
  readonly rules: DispatchRules
  readonly hangup: Exchange['hangup']
  /** Whether its client asks for a stream. */
  streams(request: Request): Promise<boolean>
  /** ms between `: ping` comments while a stream has not begun; 0: none. */
  readonly ping: number
  /** Of a WebSocket route. */
  readonly websocket: { readonly payload: number }
}

/** An admin endpoint of a plugin, with what its handler runs with. */
export interface Endpoint {
  readonly plugin: string
  answer(request: AdminRequest, gateway: GatewayView): Json | Promise<Json>
}

export interface SnapshotParts {
  readonly version: number
  readonly hash: string
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  /** Which addresses of customers it connects to. */
  readonly egress: Egress
  readonly routes: readonly CompiledRoute[]
  readonly admin: ReadonlyMap<string, Endpoint>
  /** Lets go of everything counted. */
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
  readonly #http = new Router<CompiledRoute>()
  readonly #websocket = new Router<CompiledRoute>()
  readonly #names = new Map<string, CompiledRoute>()
  readonly #release: () => void
  readonly #gone = Promise.withResolvers<void>()
  #users = 0
  #retiring = false
  #over = false

  constructor(parts: SnapshotParts) {
    this.version = parts.version
    this.hash = parts.hash
    this.settings = parts.settings
    this.upstreams = parts.upstreams
    this.egress = parts.egress
    this.routes = parts.routes
    this.admin = parts.admin
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
  find(method: string, path: string): Match<CompiledRoute> | undefined {
    return this.#http.find(method, path)
  }
  findWebSocket(path: string): Match<CompiledRoute> | undefined {
    return this.#websocket.find('GET', path)
  }
  named(route: string): CompiledRoute | undefined {
    return this.#names.get(route)
  }
  methods(path: string): readonly string[] {
    return this.#http.methods(path)
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
  /** No new request comes in. Resolves when the last one let go and everything shared was released. */
  retire(): Promise<void> {
    this.#retiring = true
    if (this.#users === 0) this.#end()
    return this.#gone.promise
  }
  /** Once, although a turn may begin and end in a snapshot that is over. */
  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#release()
    this.#gone.resolve()
  }
}
