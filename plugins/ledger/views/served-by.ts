/** The target that served a call: the column `served` of its charge, one JSON text, and how it is
 *  shown. */
import type { Exchange, HostBase, Json, Row, Target, UpstreamView } from '../../../engine/plugin.ts'
import { SERVED_VIEW } from '../../rows/calls.ts'
import { CACHED, GUARD_VERDICT, RULE, SERVED, type Served, TAGS, type Tags } from '../../slots.ts'
import type { ServedFacts, ServedView } from '../../views.ts'
import { zonesOf } from '../../zones/rule.ts'

/** Members that are not known are absent. `first` and `ms`: from the head of the request to the
 *  first content, and to the charge. */
interface ServedBy extends Omit<Served, 'request'> {
  readonly upstream?: string
  readonly target?: string
  /** The name of its key, which does not show it. */
  readonly key?: string
  readonly first?: number
  readonly ms?: number
  /** Answered from the cache: the id of the call that an upstream answered. */
  readonly cache?: string
  /** The zones of the upstream. */
  readonly zone?: readonly string[]
  readonly tags?: Tags
  /** The rule that chose the target. */
  readonly rule?: string
  /** The actions of guards: `pii=masked(2)`. */
  readonly guard?: string
}
const EMPTY: Served = {}
const NO_CACHE: { readonly request?: string } = {}

/** `firstContentAt`: a time of `performance.now()`; 0: the answer is sent in one piece, or has no
 *  content. Null: no upstream was asked. */
export const servedByOf = (
  { progress, slots, startedAt }: Pick<Exchange, 'progress' | 'slots' | 'startedAt'>,
  firstContentAt = 0,
): string | null => {
  const { target, key, upstream } = progress
  if (!target) return null
  const first = firstContentAt > 0 ? Math.round(firstContentAt - startedAt) : undefined
  const ms = Math.round(performance.now() - startedAt)
  const { request: cache } = slots.get(CACHED) ?? NO_CACHE
  const zone = zoneOf(upstream)
  const [tags, rule, guard] = [slots.get(TAGS), slots.get(RULE), slots.get(GUARD_VERDICT)]
  const facts = { first, ms, cache, zone, tags, rule, guard }
  // The gateway wrote the answer itself, and sent no key.
  if (cache !== undefined) return textOf(target, undefined, EMPTY, facts)
  return textOf(target, key ?? upstream?.key, slots.get(SERVED) ?? EMPTY, facts)
}

/** Of a task. `id`: the upstream's id of it. Times in ms since 1970. */
export const servedByTask = (
  task: {
    readonly target: Target
    readonly created: number
    readonly slots: Readonly<Record<string, Json>>
  },
  upstreams: HostBase['upstreams'],
  { endedAt, ...served }: Served & { readonly endedAt?: number } = {},
): string => {
  const ms = endedAt === undefined ? undefined : endedAt - task.created
  const upstream = upstreams[task.target.upstream]
  const zone = zoneOf(upstream)
  const tags = task.slots[TAGS.name] as Tags | undefined
  const rule = task.slots[RULE.name]
  return textOf(task.target, task.target.pin?.key ?? upstream?.key, served, {
    ms,
    zone,
    tags,
    rule,
  })
}

type Facts = Partial<
  Pick<
    Record<keyof ServedBy, unknown>,
    'first' | 'ms' | 'cache' | 'zone' | 'tags' | 'rule' | 'guard'
  >
>
/** The zones of an upstream; undefined if it has none. */
const zoneOf = (upstream: UpstreamView | undefined): readonly string[] | undefined => {
  const zones = zonesOf(upstream)
  return zones.length > 0 ? zones : undefined
}
/** One literal, so that the engine knows its shape. */
const textOf = (
  { upstream, name: target }: Target,
  key: string | undefined,
  { request, id = request, model, region, attributes }: Served,
  { first, ms, cache, zone, tags, rule, guard }: Facts,
): string =>
  JSON.stringify({
    upstream,
    target,
    key,
    id,
    model,
    region,
    attributes,
    first,
    ms,
    cache,
    zone,
    tags,
    rule,
    guard,
  } as ServedBy)

const read = ({ served }: Row): ServedBy =>
  typeof served === 'string' ? (JSON.parse(served) as ServedBy) : {}
const textIn = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null

export const servedFacts = (row: Row): ServedFacts => {
  const { attributes = {}, region, first, ms, zone, tags, rule, guard } = read(row)
  return {
    tier: textIn(attributes.service_tier),
    speed: textIn(attributes.speed),
    geography: textIn(attributes.inference_geo) ?? textIn(region),
    zone: zone?.join(', ') ?? null,
    tags: tags ? printTags(tags) : null,
    rule: rule ?? null,
    guard: guard ?? null,
    first_content_ms: first ?? ms ?? null,
    ms: ms ?? null,
  }
}

/** Such as `feature=search`. */
const textsOf = (tags: Tags): readonly string[] =>
  Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
/** `feature=search, project=alpha`. */
const printTags = (tags: Tags): string => textsOf(tags).join(', ')
/** A column `served` with tags has this text, and no other: quotes in values are escaped. */
export const TAGS_MARK = '"tags":{'
/** An SQL expression of PostgreSQL for the tags in the column, as JSON. It ends at the first brace,
 *  since names and values of tags have none. */
export const tagsInPostgres = (row: string): string =>
  `substring(${row}.served from '${TAGS_MARK.slice(0, -1)}([{][^}]*[}])')`
/** The tags of a column `served`, in order. Most columns have none: those are not parsed. */
export const tagTextsIn = (served: string | null): readonly string[] =>
  served?.includes(TAGS_MARK) === true ? textsOf(read({ served }).tags ?? {}) : []

export const servedView = (row: Row): ServedView => {
  const { upstream, target, key, model, id, cache } = read(row)
  return {
    upstream: upstream ?? null,
    target: target ?? null,
    upstream_key: key ?? null,
    served_model: model ?? null,
    response_id: id ?? null,
    cache: cache ?? null,
    ...servedFacts(row),
  }
}
export const SERVED_COLUMNS = Object.keys(SERVED_VIEW) as readonly (keyof ServedView)[]
