/** Converts usage counts to and from the gateway's meters. */
import type { Meters } from '../../slots.ts'
import { count, type Fields, isFields, lenientObject, lenientObjects } from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import { metersOfCalls } from '../hosted-tools.ts'
import type { Content } from '../hub/content.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import { withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'
import {
  cachedTokensOf,
  cacheWriteTokensOf,
  completionTokensOf,
  promptTokensOf,
} from '../token-meters.ts'

/** The billed amounts. `input_tokens` excludes tokens read from and written to the cache;
 *  `output_tokens` includes thoughts. Where `iterations` are listed, their sum is billed: the
 *  counts beside them omit those of a compaction and of other models that helped. `usage`: with
 *  the names of this format. */
export const metersOf = (usage: Fields): Meters => metersWith(usage, tokensOf(usage))

/** The counts beside the iterations: those of the context, which clients of other formats read. */
export const contextMetersOf = (sentUsage: Fields): Meters => {
  const usage = ownNames(sentUsage)
  return metersWith(usage, tokensBeside(usage))
}

const metersWith = (usage: Fields, tokens: Tokens): Meters => {
  const { input, cached, cacheWrite, cacheWriteHour, output } = tokens
  const thinking = capCount(lenientObject(usage, 'output_tokens_details').thinking_tokens, output)
  const toolCounts = lenientObject(usage, 'server_tool_use')
  return omitZeroMeters({
    input,
    cached,
    cache_write: cacheWrite - cacheWriteHour,
    cache_write_1h: cacheWriteHour,
    output: output - thinking,
    thinking,
    ...metersOfCalls(toolCounts, '_requests'),
  })
}

interface Tokens {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  /** Part of `cacheWrite`. */
  readonly cacheWriteHour: number
  readonly output: number
}
const tokensOf = (usage: Fields): Tokens => {
  const total = tokensBeside(usage)
  const iterations = lenientObjects(usage, 'iterations').map(each => tokensBeside(ownNames(each)))
  if (iterations.length === 0) return total
  // An incomplete list never reduces the total.
  const sumOf = (name: keyof Tokens): number =>
    Math.max(
      total[name],
      iterations.reduce((sum, each) => sum + each[name], 0),
    )
  const cacheWrite = sumOf('cacheWrite')
  return {
    input: sumOf('input'),
    cached: sumOf('cached'),
    cacheWrite,
    cacheWriteHour: Math.min(sumOf('cacheWriteHour'), cacheWrite),
    output: sumOf('output'),
  }
}
export const ownNames = withOwnNames({
  input: 'input_tokens',
  output: 'output_tokens',
  outputDetails: 'output_tokens_details',
  cacheRead: 'cache_read_input_tokens',
  cacheWrite: 'cache_creation_input_tokens',
})
const tokensBeside = (usage: Fields): Tokens => {
  const { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour } = lenientObject(
    usage,
    'cache_creation',
  )
  // Some upstreams send the parts without their sum.
  const cacheWrite = count(usage.cache_creation_input_tokens) || count(minutes) + count(hour)
  return {
    input: count(usage.input_tokens),
    cached: count(usage.cache_read_input_tokens),
    cacheWrite,
    cacheWriteHour: capCount(hour, cacheWrite),
    output: count(usage.output_tokens),
  }
}

/** Audio, images and thoughts count as tokens of their side. This is the shape at the end of a
 *  stream. */
export const countsOf = (meters: Meters = {}): Fields => {
  const { thinking = 0, web_search = 0 } = meters
  const cached = cachedTokensOf(meters)
  const cacheWrite = cacheWriteTokensOf(meters)
  return {
    input_tokens: promptTokensOf(meters) - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    output_tokens: completionTokensOf(meters),
    output_tokens_details: thinking > 0 ? { thinking_tokens: thinking } : null,
    server_tool_use:
      web_search > 0 ? { web_search_requests: web_search, web_fetch_requests: 0 } : null,
  }
}

/** Searches of an answer whose upstream did not count them: one for each call of the tool. */
export const countSearches = (meters: Meters | undefined, calls: number): Meters | undefined =>
  calls > (meters?.web_search ?? 0) ? { ...meters, web_search: calls } : meters
export const isSearch = (content: Content): boolean =>
  content.type === 'hostedCall' && content.tool === 'web_search'

/** The shape in a whole message and at the start of a stream. */
export const usageOf = (meters: Meters = {}, tier?: string): Fields => ({
  ...countsOf(meters),
  cache_creation: {
    ephemeral_5m_input_tokens: meters.cache_write ?? 0,
    ephemeral_1h_input_tokens: meters.cache_write_1h ?? 0,
  },
  inference_geo: null,
  service_tier: servedTier(tier),
  speed: null,
})

/** Merges the counts of a stream: the last value of each wins; null and missing values are
 *  ignored. */
export const mergeCounts = (earlier: Fields, later: Fields): Fields => {
  const counts = { ...earlier }
  for (const [key, value] of Object.entries(later)) if (value !== null) counts[key] = value
  return counts
}

/** Converts names of service tiers; unlisted names are the same on both sides. */
export const tierOf = (usage: Fields): string | undefined => {
  const { service_tier: tier } = usage
  if (typeof tier !== 'string') return undefined
  return tier === 'standard' ? 'default' : tier
}
const TIERS: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  priority: 'priority',
  batch: 'batch',
}
const servedTier = (tier: string | undefined): string | null =>
  (tier === undefined ? undefined : TIERS[tier]) ?? null

/** A stream names it in the message of its first event and with the counts near its end. */
export const served: ServedFacts = {
  members: ['id', 'model'],
  read(fields) {
    const message = isFields(fields.message) ? fields.message : fields
    const { service_tier, speed, inference_geo } = lenientObject(message, 'usage')
    return servedOf(message.id, message.model, { service_tier, speed, inference_geo })
  },
}
