/** Attributes that say how a provider serves a call: its tier, its speed, its place. Their values
 *  have several names, and one of them is the standard that no request has to ask for. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { Attributes } from '../slots.ts'
import { isFields, type Fields as JsonFields } from './fields.ts'

/** A request or an answer that leaves a choice to the provider names this value. */
export const OPEN = 'auto'
export const STANDARD = 'default'
/** The service tiers that a request to OpenAI may name. */
export const OPENAI_TIERS: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'flex',
  'scale',
  'priority',
  'fast',
])

/** Attribute -> other names of its values. */
const NAMES: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  service_tier: new Map([
    ['standard', STANDARD],
    ['standard_only', STANDARD],
    ['on_demand', STANDARD],
    ['unspecified', STANDARD],
    ['shared', STANDARD],
    ['dedicated', 'provisioned'],
    ['fast', 'priority'],
  ]),
  speed: new Map([['standard', STANDARD]]),
  inference_geo: new Map([
    ['global', STANDARD],
    ['not_available', STANDARD],
  ]),
}
export const isTierName = (name: string): boolean => Object.hasOwn(NAMES, name)

/** Whether the value is that of a tier. Numbers are not: speech has a speed of 1.25. */
export const isTier = (name: string, value: string | undefined): boolean =>
  isTierName(name) && (value === undefined || !/^[0-9.]+$/.test(value))

/** The value by its usual name: an absent tier is the standard, and so is `false`. */
export const usualName = (name: string, value: string | undefined): string => {
  if (value === undefined || value === 'false') return STANDARD
  const usual = value.toLowerCase().replace(TIER_PREFIX, '')
  return NAMES[name]?.get(usual) ?? usual
}
/** Google's libraries name values such as `SERVICE_TIER_FLEX`. */
const TIER_PREFIX = /^service_tier_/

/** Types of traffic at Vertex AI, as service tiers. */
const TRAFFIC_TIERS: ReadonlyMap<string, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
  ['ON_DEMAND_OFFPEAK', 'off_peak'],
  ['PROVISIONED_THROUGHPUT', 'provisioned'],
])
export const trafficTierOf = (type: Json | undefined): string | undefined =>
  typeof type === 'string' ? TRAFFIC_TIERS.get(type.toUpperCase()) : undefined

/** The tiers that a price names, by attribute. */
export type PricedTiers = ReadonlyMap<string, ReadonlySet<string>>

/** A tier in a request, and the member that asks for it. */
export interface RequestedTier {
  readonly member: string
  readonly name: string
  readonly value: string
  /** The member of the body that holds `member`, if it is not the body itself. */
  readonly holder?: string
}
interface TierMember {
  readonly member: string
  readonly name: string
  read(value: Json): Json | undefined
}
const itself = (value: Json): Json => value
const memberOf =
  (key: string) =>
  (value: Json): Json | undefined =>
    isFields(value) ? value[key] : value
/** Of all formats: a target may read what the client's format does not know. */
const MEMBERS: readonly TierMember[] = [
  { member: 'service_tier', name: 'service_tier', read: memberOf('type') },
  { member: 'serviceTier', name: 'service_tier', read: memberOf('type') },
  { member: 'speed', name: 'speed', read: itself },
  { member: 'performanceConfig', name: 'speed', read: memberOf('latency') },
  { member: 'inference_geo', name: 'inference_geo', read: itself },
]
/** Some compatible servers merge its members into the request. */
export const EXTRA_BODY = 'extra_body'
/** Tiers of the body, and those in `extra_body`, which some servers read in their place. */
export const requestedTiersOf = (body: Json): readonly RequestedTier[] => {
  if (!isFields(body)) return NO_TIERS
  const tiers = tiersIn(body)
  const inner = body[EXTRA_BODY]
  if (!isFields(inner)) return tiers
  return [...tiers, ...tiersIn(inner).map(tier => ({ ...tier, holder: EXTRA_BODY }))]
}
/** Whether the body has a member that may ask for a tier. */
export const namesTier = (body: JsonFields): boolean => {
  for (const { member } of MEMBERS) if (body[member] !== undefined) return true
  return false
}
const tiersIn = (body: JsonFields): readonly RequestedTier[] => {
  let tiers: RequestedTier[] | undefined
  for (const { member, name, read } of MEMBERS) {
    const content = body[member]
    if (content === undefined || content === null) continue
    const value = read(content)
    if (typeof value !== 'string' || !isTier(name, value)) continue
    tiers ??= []
    tiers.push({ member, name, value })
  }
  return tiers ?? NO_TIERS
}
const NO_TIERS: readonly RequestedTier[] = []

/** Headers of requests to Vertex AI and Bedrock -> attribute. */
const HEADERS: readonly (readonly [header: string, name: string])[] = [
  ['x-vertex-ai-llm-request-type', 'service_tier'],
  ['x-vertex-ai-llm-shared-request-type', 'service_tier'],
  ['x-amzn-bedrock-service-tier', 'service_tier'],
  ['x-amzn-bedrock-performanceconfig-latency', 'speed'],
]
/** The tiers that headers ask for; `member` is the header. */
export const headerTiersOf = (
  headers: Readonly<Record<string, string | undefined>>,
): readonly RequestedTier[] => {
  let tiers: RequestedTier[] | undefined
  for (const [member, name] of HEADERS) {
    const value = headers[member]
    if (value === undefined) continue
    tiers ??= []
    tiers.push({ member, name, value: value.trim() })
  }
  return tiers ?? NO_TIERS
}

/** Headers of responses -> attribute. */
const SERVED_HEADERS: readonly (readonly [header: string, name: string])[] = [
  ['x-gemini-service-tier', 'service_tier'],
  ['x-amzn-bedrock-service-tier', 'service_tier'],
  ['x-amzn-bedrock-performanceconfig-latency', 'speed'],
]
/** The tiers that the headers of a response name, by attribute; undefined: none. */
export const servedTiersOf = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Attributes | undefined => {
  let tiers: { [name: string]: string } | undefined
  for (const [header, name] of SERVED_HEADERS) {
    const value = headers[header]
    if (typeof value !== 'string') continue
    tiers ??= {}
    tiers[name] = value.trim()
  }
  return tiers
}
