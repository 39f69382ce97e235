/** Compiles the engine's own options of an entry of `routes:`. */
import type { Target } from '../../plugin.ts'
import type { BodyRules } from '../../request/body.ts'
import { OutlineUse } from '../../request/body-json.ts'
import type { Call } from '../../request/exchange.ts'
import { PING_COMMENT } from '../../response/pings.ts'
import type { CompiledRoute, NamedStage } from '../../snapshot/snapshot.ts'
import type { Deadlines, Upstream } from '../../upstream/upstreams.ts'
import type { ROUTE } from '../sections/route.ts'
import type { RawOf, ValueOf } from '../shape.ts'

/** A validated route; every other key holds the options of a plugin. */
export type RouteOptions = RawOf<typeof ROUTE> & { readonly [plugin: string]: unknown }
/** In ms and bytes. */
export type RouteValues = ValueOf<typeof ROUTE>

export const targetsOf = ({ upstream }: RouteValues): readonly Target[] =>
  Object.freeze(upstream.map(({ to, ...weight }) => ({ upstream: to, ...weight })))

/** `limit`: the body limit of the settings, for routes without their own. */
export const bodyRules = ({ body }: RouteValues, limit: number): BodyRules => ({
  limit: body.limit ?? limit,
  encodings: body.encodings,
  outlines: new OutlineUse(),
  inflatedLimit: body.inflated ?? body.limit ?? limit,
})

/** The deadlines of an upstream on this route. */
export const deadlinesByUpstream = ({ timeout }: RouteValues) => {
  if (!timeout) return (upstream: Upstream): Deadlines => upstream.deadlines
  const cache = new Map<Upstream, Deadlines>()
  return (upstream: Upstream): Deadlines => {
    const deadlines = cache.get(upstream) ?? { ...upstream.deadlines, ...timeout }
    cache.set(upstream, deadlines)
    return deadlines
  }
}

/** Returns the path and query of the upstream request. */
export const createRewrite =
  ({ rewrite }: RouteValues) =>
  ({ request, params, upstreamPath }: Call): string => {
    if (upstreamPath !== undefined) return upstreamPath
    // Parameters are decoded, so they are encoded for the path.
    const path =
      rewrite?.replace(/\{(\w+)\}/g, (_, name) => encodeURI(params[name] ?? '')) ?? request.path
    if (request.search === '') return path
    return `${path}${path.includes('?') ? '&' : '?'}${request.search}`
  }

/** Pings with the event of the first stage that has one. */
export const pingOf = (
  { ping }: RouteValues,
  stages: readonly NamedStage[],
): CompiledRoute['ping'] => {
  if (ping === undefined) return undefined
  const event = stages.find(({ stage }) => stage.ping)?.stage.ping
  return { every: ping, event: event ? Buffer.from(event) : PING_COMMENT }
}
