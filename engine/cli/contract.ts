/** The page of the plugin contract about what operators use: commands, and endpoints of the admin listener.
 *  Types only. */
import type { Json } from '../store/contract.ts'

/** `tollgate NAME …`. `Host`: what it runs with. */
export interface CommandOf<Host> {
  readonly summary: string
  /** One line a user can paste. */
  readonly example?: string
  readonly options?: Readonly<
    Record<
      string,
      { readonly type: 'string' | 'boolean'; readonly short?: string; readonly summary?: string }
    >
  >
  /** Resolves to the exit code. */
  run(
    args: {
      readonly values: Readonly<Record<string, string | boolean | undefined>>
      readonly positionals: readonly string[]
    },
    host: Host,
  ): Promise<number>
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
