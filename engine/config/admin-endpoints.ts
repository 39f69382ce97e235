/** Endpoints of the admin listener: those of the engine, and the form of those that plugins add. */
import type { AdminRequest, GatewayView, Json, Operator, PresentedCredential } from '../plugin.ts'

/** The endpoints that the plugins of a version add to the admin listener. */
export interface AdminParts {
  /** By method and path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** Finds the operator of a credential; undefined: no plugin does. */
  readonly authorize: ((credential: PresentedCredential) => Promise<Operator>) | undefined
}
/** An admin endpoint of a plugin, bound to its host. */
export interface Endpoint {
  readonly plugin: string
  answer(request: AdminRequest, gateway: GatewayView): Json | Promise<Json>
}

/** Who may call an endpoint over TCP. `open`: everyone who reaches the listener. `metrics`: who has
 *  `settings.metrics_key`, and everyone on loopback if none is set. `operator`: who has the
 *  credential of an operator. Over the Unix socket every call is admitted. */
export type Access = 'open' | 'metrics' | 'operator'
/** Endpoints of the engine, which no plugin can add. */
const ENDPOINT_ACCESS = {
  'GET /-/': 'operator',
  'GET /-/health': 'open',
  'GET /-/ready': 'open',
  'GET /-/config': 'operator',
  'GET /metrics': 'metrics',
  'POST /-/reload': 'operator',
  'POST /-/rollback': 'operator',
} as const satisfies Readonly<Record<string, Access>>
export type EngineEndpoint = keyof typeof ENDPOINT_ACCESS
export const ENDPOINTS = Object.keys(ENDPOINT_ACCESS) as readonly EngineEndpoint[]
export const ENDPOINT = /^(?:GET|POST|PUT|PATCH|DELETE) \/-\/[\w.~/-]+$/
/** Endpoints of plugins are for operators. */
export const accessOf = (name: string): Access =>
  Object.hasOwn(ENDPOINT_ACCESS, name) ? ENDPOINT_ACCESS[name as EngineEndpoint] : 'operator'
