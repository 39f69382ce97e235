/** Reads what answers say about how they were made: the provider's id, the model, and the
 *  attributes that prices depend on. Pure. */
import type { Exchange, Headers, Json } from '../../engine/plugin.ts'
import type { Attributes, Served } from '../slots.ts'
import { type Fields, isStorable, lenientObject } from './fields.ts'
import { servedTiersOf, trafficTierOf } from './tiers.ts'

/** A format's facts about how answers are made. */
export interface ServedFacts {
  /** Members of a whole answer that `read` needs, without the one of the usage counts. */
  readonly members: readonly string[]
  /** A text that occurs in each event that says how the answer was made. Absent: the first event
   *  and those with counts say all. */
  readonly mark?: string
  /** Reads a whole answer, or the data of an event. */
  read(fields: Fields): Served
}

const MAX_LENGTH = 64
/** Values that leave the choice to the provider: an answer that repeats one names nothing. */
const OPEN_VALUES: ReadonlySet<Json> = new Set(['', 'auto', 'unspecified'])

/** `values`: by the names of attributes in prices. Other values than texts, numbers and flags are
 *  left out. */
export const servedOf = (
  id: Json | undefined,
  model: Json | undefined,
  values: Readonly<Record<string, Json | undefined>> = {},
): Served => {
  const served: { id?: string; model?: string; attributes?: Attributes } = {}
  if (isText(id)) served.id = id
  if (isText(model)) served.model = model
  let attributes: { [name: string]: Attributes[string] } | undefined
  for (const name in values) {
    const value = values[name]
    if (value === undefined || !isAttribute(value) || OPEN_VALUES.has(value)) continue
    attributes ??= {}
    attributes[name] = value
  }
  if (attributes) served.attributes = attributes
  return served
}
/** The first value that does not leave the choice to the provider: upstreams repeat the requested
 *  one in one member and name the served one in another. */
export const firstNamed = (...values: readonly (Json | undefined)[]): Json | undefined =>
  values.find(value => value !== undefined && value !== null && !OPEN_VALUES.has(value))

const MAX_NAME_LENGTH = 256
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && isStorable(value, MAX_NAME_LENGTH)
const isAttribute = (value: Json): value is Attributes[string] =>
  typeof value === 'string'
    ? isStorable(value, MAX_LENGTH)
    : typeof value === 'number' || typeof value === 'boolean'

/** Headers with the provider's id of the request; the engine renames `x-request-id`. */
const REQUEST_IDS = [
  'x-upstream-request-id',
  'request-id',
  'apim-request-id',
  'x-amzn-requestid',
  'x-amz-request-id',
  'x-ms-request-id',
  'x-goog-request-id',
  'x-debug-trace-id',
  'mistral-correlation-id',
  'msh-request-id',
  'x-tt-logid',
  'x-siliconcloud-trace-id',
  'nvcf-reqid',
  'dg-request-id',
  'x-trace-id',
]
/** The provider's id of the request that a response answers. Undefined: no header has one. */
export const requestIdIn = (headers: Headers): string | undefined => {
  for (const name of REQUEST_IDS) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}
const REGION = 'x-ms-region'

/** Reads the headers of a response to this call. */
export const servedByHeaders = (
  headers: Headers,
  call: Pick<Exchange, 'id'> & { readonly request: Pick<Exchange['request'], 'headers'> },
): Served => {
  const served: { -readonly [Name in keyof Served]: Served[Name] } = {}
  const id = requestIdIn(headers)
  // Some upstreams repeat the id that they got.
  const isOwn = id === call.id || id === call.request.headers['x-request-id']
  if (isText(id) && !isOwn) served.request = id
  const region = headers[REGION]
  if (isText(region)) served.region = region
  const attributes = servedTiersOf(headers)
  if (attributes) served.attributes = attributes
  return served
}

/** Later members replace earlier ones. */
export const mergeServed = (earlier: Served, later: Served): Served => {
  const { attributes } = later
  if (attributes === undefined || earlier.attributes === undefined) return { ...earlier, ...later }
  return { ...earlier, ...later, attributes: { ...earlier.attributes, ...attributes } }
}

/** The answers of this format say nothing. */
export const NOTHING_SERVED: ServedFacts = { members: [], read: () => ({}) }

/** Every chunk may name the tier. Compatible upstreams report what their own provider served beside
 *  the counts: Vertex AI its type of traffic, Perplexity the size of its search. Cerebras repeats
 *  the requested tier and names the served one in `service_tier_used`. */
export const OPENAI_SERVED: ServedFacts = {
  members: ['id', 'model', 'service_tier', 'service_tier_used'],
  mark: 'service_tier"',
  read(fields) {
    const usage = lenientObject(fields, 'usage')
    const { speed, inference_geo, search_context_size } = usage
    const google = lenientObject(lenientObject(usage, 'extra_properties'), 'google')
    const attributes = {
      service_tier: firstNamed(
        fields.service_tier_used,
        fields.service_tier,
        usage.service_tier,
        trafficTierOf(google.traffic_type),
      ),
      speed,
      inference_geo,
      search_context_size,
    }
    return servedOf(fields.id, fields.model, attributes)
  },
}
