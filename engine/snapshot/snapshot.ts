/** The compiled, frozen configuration. It is released after the last request that retains it. */
import type { AdminParts } from '../config/admin-endpoints.ts'
import type { Settings } from '../config/settings.ts'
import type { TrustedProxies } from '../config/trusted-proxies.ts'
import type { Egress } from '../egress/egress.ts'
import type { Exchange, Fault, Headers, Refusal, Request, Route, Stage, Target } from '../plugin.ts'
import type { BodyRules } from '../request/body.ts'
import type { Call } from '../request/exchange.ts'
import { NearestRoutes } from '../request/nearest-route.ts'
import { readTarget } from '../request/path.ts'
import type { Run } from '../request/pipeline.ts'
import { type Match, Router } from '../request/router.ts'
import type { PingRule } from '../response/pings.ts'
import type { UpstreamAttempt } from '../upstream/attempt.ts'
import type { DispatchRules } from '../upstream/dispatch.ts'
import type { Upstream } from '../upstream/upstreams.ts'

/** A stage with the name of its plugin, for explain, errors and resumed calls. */
export interface NamedStage {
  readonly name: string
  readonly stage: Stage
}
export interface CompiledRoute {
  readonly route: Route
  readonly stages: readonly NamedStage[]
  readonly run: Run<Call>
  /** Runs only the stages after `plugin`, for a later turn of a durable task. */
  runAfter(plugin: string): Run<Call>
  /** Runs the whole pipeline around another innermost step. */
  runWith(last: Run<Call>): Run<Call>
  /** Runs the forward ring around another innermost step. */
  forwardWith(last: Run<UpstreamAttempt>): Run<UpstreamAttempt>
  fail(fault: Fault, exchange: Exchange): Refusal
  /** The headers of a reply or a refusal as they are sent; undefined: unchanged. */
  readonly headers: ((headers: Headers, call: Exchange) => Headers) | undefined
  /** Headers of the answer to a preflight request; undefined: it has none. */
  readonly preflight: Stage['preflight']
  readonly body: BodyRules
  readonly targets: readonly Target[]
  readonly rules: DispatchRules
  readonly hangup: Exchange['hangup']
  /** Whether its client asks for a stream. */
  streams(request: Request): Promise<boolean>
  /** Pings of its streams; undefined: none. */
  readonly ping: PingRule | undefined
  /** For WebSocket routes. `payload`: bytes of the largest message. */
  readonly websocket: { readonly payload: number }
}

export interface SnapshotParts {
  readonly version: number
  readonly hash: string
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  /** Which addresses in URLs of customers may be connected to. */
  readonly egress: Egress
  readonly proxies: TrustedProxies
  readonly routes: readonly CompiledRoute[]
  readonly admin: AdminParts
  /** The forward ring of calls without a route. */
  readonly directRing: () => Promise<CompiledRoute['forwardWith']>
  /** Releases all shared resources. */
  release(): void
}

export class Snapshot {
  readonly version: number
  readonly hash: string
  readonly settings: Settings
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly egress: Egress
  readonly proxies: TrustedProxies
  readonly routes: readonly CompiledRoute[]
  readonly admin: AdminParts
  readonly directRing: SnapshotParts['directRing']
  readonly #http = new Router<CompiledRoute>()
  readonly #websocket = new Router<CompiledRoute>()
  readonly #nearest = new NearestRoutes<CompiledRoute>()
  readonly #names = new Map<string, CompiledRoute>()
  readonly #release: () => void
  readonly #retirement = Promise.withResolvers<void>()
  #users = 0
  #isRetiring = false
  #isReleased = false

  constructor(parts: SnapshotParts) {
    this.version = parts.version
    this.hash = parts.hash
    this.settings = parts.settings
    this.upstreams = parts.upstreams
    this.egress = parts.egress
    this.proxies = parts.proxies
    this.routes = parts.routes
    this.admin = parts.admin
    this.directRing = parts.directRing
    this.#release = parts.release
    for (const compiled of parts.routes) {
      const { method, pattern, name } = compiled.route
      this.#names.set(name, compiled)
      this.#nearest.add(pattern, compiled)
      if (method === 'WS') this.#websocket.add('GET', pattern, compiled)
      else for (const each of method.split('|')) this.#http.add(each, pattern, compiled)
    }
  }
  findExact(method: string, path: string): Match<CompiledRoute> | undefined {
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
  /** The match for commands and plugins. The method of a WebSocket is `WS`. Throws PATH_REFUSED. */
  match(method: string, target: string, host = '') {
    const { path, search } = readTarget(target, host)
    const match = method === 'WS' ? this.findWebSocket(path) : this.find(method, path)
    const allowed = match ? [] : this.methodsOf(path)
    return { path, search, allowed, params: match?.params ?? {}, compiled: match?.value }
  }
  findByName(route: string): CompiledRoute | undefined {
    return this.#names.get(route)
  }
  methodsOf(path: string): readonly string[] {
    const methods = this.#http.methods(path)
    return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : methods
  }
  /** The route, of any method, that renders errors of a path without one. */
  findNearest(path: string): CompiledRoute | undefined {
    return this.#nearest.find(path)
  }
  retain(): void {
    this.#users++
  }
  release(): void {
    if (--this.#users === 0 && this.#isRetiring) this.#end()
  }
  get users(): number {
    return this.#users
  }
  /** Resolves when the last request and all shared resources were released. */
  retire(): Promise<void> {
    this.#isRetiring = true
    if (this.#users === 0) this.#end()
    return this.#retirement.promise
  }
  /** Releases once: a turn may begin and end in a snapshot that is released already. */
  #end(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#release()
    this.#retirement.resolve()
  }
}
