/** Reads the engine's own options of one entry of `routes:`; durations in ms, sizes in bytes. */
import type { Balance, Exchange, Target } from '../../plugin.ts'
import type { BodyRules } from '../../request/body.ts'
import type { Call } from '../../request/exchange.ts'
import { PING_COMMENT } from '../../response/pings.ts'
import type { CompiledRoute, NamedStage } from '../../snapshot/snapshot.ts'
import type { Deadlines, Upstream } from '../../upstream/upstreams.ts'
import { parseDuration, parseSize } from './units.ts'
import { readDeadlines, type UpstreamOptions } from './upstreams.ts'

/** A validated route; every other key holds the options of a plugin. */
export interface RouteOptions {
  readonly path: string
  readonly name?: string
  readonly upstream?:
    | string
    | readonly (string | { readonly to: string; readonly weight?: number })[]
  readonly balance?: Balance
  readonly retries?: number
  readonly retry_on?: readonly number[]
  readonly timeout?: UpstreamOptions['timeout']
  readonly body?: {
    readonly limit?: string | number
    readonly encodings?: readonly string[]
    readonly inflated?: string | number
  }
  readonly hangup?: 'cancel' | { readonly drain: string; readonly bytes: string | number }
  readonly ping?: string
  readonly rewrite?: string
  readonly websocket?: { readonly payload?: string | number }
  readonly [plugin: string]: unknown
}

export const readTargets = ({ upstream }: RouteOptions): readonly Target[] => {
  if (upstream === undefined) return []
  const list = typeof upstream === 'string' ? [upstream] : upstream
  return Object.freeze(
    list.map(each =>
      typeof each === 'string'
        ? { upstream: each }
        : { upstream: each.to, ...(each.weight !== undefined && { weight: each.weight }) },
    ),
  )
}

/** `limit`: the body limit of the settings, for routes without their own. */
export const readBodyRules = ({ body }: RouteOptions, limit: number): BodyRules => ({
  limit: parseSize(body?.limit ?? limit),
  encodings: body?.encodings ?? [],
  inflatedLimit: parseSize(body?.inflated ?? body?.limit ?? limit),
})

/** The deadlines of an upstream on this route. */
export const deadlinesByUpstream = ({ timeout }: RouteOptions) => {
  if (!timeout) return (upstream: Upstream): Deadlines => upstream.deadlines
  const cache = new Map<Upstream, Deadlines>()
  return (upstream: Upstream): Deadlines => {
    const deadlines = cache.get(upstream) ?? readDeadlines(timeout, upstream.deadlines)
    cache.set(upstream, deadlines)
    return deadlines
  }
}

/** Returns the path and query of the upstream request. */
export const createRewrite =
  ({ rewrite }: RouteOptions) =>
  ({ request, params, upstreamPath }: Call): string => {
    if (upstreamPath !== undefined) return upstreamPath
    // Parameters are decoded, so they are encoded for the path.
    const path =
      rewrite?.replace(/\{(\w+)\}/g, (_, name) => encodeURI(params[name] ?? '')) ?? request.path
    if (request.search === '') return path
    return `${path}${path.includes('?') ? '&' : '?'}${request.search}`
  }

export const readHangup = ({ hangup }: RouteOptions): Exchange['hangup'] =>
  hangup === undefined || hangup === 'cancel'
    ? 'cancel'
    : { ms: parseDuration(hangup.drain), bytes: parseSize(hangup.bytes) }

/** Pings with the event of the first stage that has one. */
export const readPing = (
  { ping }: RouteOptions,
  stages: readonly NamedStage[],
): CompiledRoute['ping'] => {
  if (ping === undefined) return undefined
  const event = stages.find(({ stage }) => stage.ping)?.stage.ping
  return { every: parseDuration(ping), event: event ? Buffer.from(event) : PING_COMMENT }
}
